/* SPDX-License-Identifier: Apache-2.0 */
/* Which option a word means. For options.c only. */
#ifndef SRC_OPTIONS_OPTION_FIND_H
#define SRC_OPTIONS_OPTION_FIND_H

#include "src/options/options.h"

struct option_found {
    const struct option_row *row;
    const char *name;   /* in full */
    const char *value;  /* the text behind the name in the same word; NULL if there is none */
    const char *second; /* of OPTION_INT_PAIR: the other value */
};

/* Finds the option that `word`, which begins with '-', names: in full, shortened, with "=VALUE", or
 * as a letter with its value. Fails if there is none, suggesting the closest name if one is close,
 * or if there are several. */
int option_find(struct option_found *found, const struct option_table *table, const char *word,
                struct err *err);

/* Finds the option with this full `name`. */
bool option_find_named(struct option_found *found, const struct option_table *table,
                       const char *name);

/* Is `word` the name of an option, in full and alone? */
bool option_is_name(const struct option_table *table, const char *word);

#endif
