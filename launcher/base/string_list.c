/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of texts; see string_list.h. */
#include "launcher/base/string_list.h"

#include "launcher/base/xalloc.h"

#include <stdlib.h>
#include <string.h>

void string_list_take(struct string_list *list, char *text)
{
    if (list->count + 2 > list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 16;
        list->items = xrealloc(list->items, list->capacity * sizeof *list->items);
    }
    list->items[list->count++] = text;
    list->items[list->count] = NULL;
}

void string_list_add(struct string_list *list, const char *text, size_t length)
{
    char *copy = xmalloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    string_list_take(list, copy);
}

void string_list_fini(struct string_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct string_list){ 0 };
}

void string_list_wipe(struct string_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        explicit_bzero(list->items[i], strlen(list->items[i]));
    string_list_fini(list);
}

const char *string_list_variable(const struct string_list *list, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i], name, length) == 0 && list->items[i][length] == '=')
            return list->items[i] + length + 1;
    return NULL;
}
