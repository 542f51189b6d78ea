/* SPDX-License-Identifier: Apache-2.0 */
/* Which option a word means. For options.c only. */
#ifndef SRC_OPTIONS_OPTION_FIND_H
#define SRC_OPTIONS_OPTION_FIND_H

#include "src/options/options.h"

struct option_found {
    const struct option_row *row;
    const char *name;  /* in full */
    const char *value; /* what stands in the same word behind the name; NULL if nothing */
};

/* Finds the option that `word`, which begins with '-', names: in full, shortened, with "=VALUE", or
 * as a letter with its value. Fails if there is none, with the closest name if one is close, or if
 * there are several. */
int option_find(struct option_found *found, const struct option_table *table, const char *word,
                struct err *err);

/* Finds the option that is called `name`, in full. */
bool option_find_named(struct option_found *found, const struct option_table *table,
                       const char *name);

/* Is `word` the name of an option, in full and alone? */
bool option_is_name(const struct option_table *table, const char *word);

#endif
