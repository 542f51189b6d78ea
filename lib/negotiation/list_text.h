/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in messages for people: parts are added whole as long as they fit; the first that does not
 * fit is replaced by "...", which ends the list. */
#ifndef LIB_NEGOTIATION_LIST_TEXT_H
#define LIB_NEGOTIATION_LIST_TEXT_H

#include <stdbool.h>
#include <stddef.h>

struct list_text {
    char *text; /* borrowed; always terminated */
    size_t length, size;
    bool cut; /* something did not fit, and nothing is added any more */
};

/* `size` is 4 or more. */
void list_text_init(struct list_text *list, char *text, size_t size);
void list_text_add(struct list_text *list, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
