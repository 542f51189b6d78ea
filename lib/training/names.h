/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of things that have names: parameters, scalars, metrics. Ranks may pass them in any order;
 * sorting puts them in the order of their names' bytes on all ranks.
 *
 * Mistakes are HVD_ERR_INVALID, and the text names the thing: "parameter 2: the name is empty". */
#ifndef LIB_TRAINING_NAMES_H
#define LIB_TRAINING_NAMES_H

#include "lib/base/status.h"
#include "lib/base/wire.h"

/* Checks that the name exists and has 1 to HVD_PARAMETER_NAME_MAX bytes of UTF-8. */
int name_check(const char *name, struct err *err);

/* A name, and its index in the caller's list. */
struct named {
    const char *name;
    int place;
};

/* Sorts the names, and checks each name, and that all differ. `kind` names the things in texts:
 * "parameter". */
int names_sort(const char *kind, struct named *names, int count, struct err *err);

/* "parameter 'w'", for texts. Returns `label`. */
enum { NAME_LABEL = QUOTED_SIZE + 32 };
char *name_label(char label[NAME_LABEL], const char *kind, const char *name);

/* Appends a name to text, so that it stays on its line and differs from every other name. */
void name_put(struct wire_writer *text, const char *name);

#endif
