/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of texts, ready to be an argv or envp. */
#ifndef LAUNCHER_BASE_STRING_LIST_H
#define LAUNCHER_BASE_STRING_LIST_H

#include <stddef.h>

struct string_list {
    char **items; /* `count` texts, owned, and a NULL; NULL while empty */
    size_t count, capacity;
};

/* Appends a text and takes ownership of it. */
void string_list_take(struct string_list *list, char *text);
void string_list_add(struct string_list *list, const char *text, size_t length);
void string_list_fini(struct string_list *list);

/* As string_list_fini(), for texts that contain a key: overwrites all of them. */
void string_list_wipe(struct string_list *list);

/* The value of NAME among NAME=VALUE texts, or NULL; borrowed. */
const char *string_list_variable(const struct string_list *list, const char *name);

#endif
