/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in messages, cut between two parts; see list_text.h. */
#include "lib/negotiation/list_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char more[] = "...";

void list_text_init(struct list_text *list, char *text, size_t size)
{
    *list = (struct list_text){ .text = text, .size = size };
    *text = '\0';
}

/* A part that is itself a list may have been cut already. */
static bool ends_with_more(const struct list_text *list)
{
    const size_t length = sizeof more - 1;
    return list->length >= length && memcmp(list->text + list->length - length, more, length) == 0;
}

/* There is always room for the dots. */
void list_text_add(struct list_text *list, const char *format, ...)
{
    if (list->cut)
        return;
    char *at = list->text + list->length;
    size_t room = list->size - list->length;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(at, room, format, args);
    va_end(args);
    list->cut = length < 0 || (size_t)length + sizeof more > room;
    if (list->cut)
        memcpy(ends_with_more(list) ? at - sizeof more + 1 : at, more, sizeof more);
    else
        list->length += (size_t)length;
}
