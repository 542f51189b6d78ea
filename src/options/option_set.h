/* SPDX-License-Identifier: Apache-2.0 */
/* Stores an option's value in the member of a struct. For options.c, and for modules that set
 * variables for the ranks in other ways. */
#ifndef SRC_OPTIONS_OPTION_SET_H
#define SRC_OPTIONS_OPTION_SET_H

#include "src/options/options.h"

/* Checks the value, which came from `source`, and sets the row's member in `target`. `value` is
 * NULL for a row without a metavar. */
int option_set(const struct option_row *row, void *target, const char *value, const char *source,
               struct err *err);

/* The second value of an OPTION_INT_PAIR, after option_set() has set the first. */
int option_set_second(const struct option_row *row, void *target, const char *value,
                      const char *source, struct err *err);

/* Appends NAME=VALUE, or replaces the entry with that name. */
void variable_set(struct string_list *list, const char *name, const char *value);

#endif
