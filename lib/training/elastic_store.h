/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of a state in memory: one block, the values without gaps, then each tensor at an address
 * that copies are fast with. It is written once when it is made, so that later copies cost no page
 * faults.
 *
 * Fails when there is no memory for the block, and when a device fails. */
#ifndef LIB_TRAINING_ELASTIC_STORE_H
#define LIB_TRAINING_ELASTIC_STORE_H

#include "lib/base/status.h"
#include "lib/hvd_training.h"

#include <stddef.h>

/* What is copied; the lists are borrowed, and stay as they are. */
struct elastic_lists {
    const struct hvd_parameter *tensors;
    int ntensors;
    const struct hvd_scalar *values;
    int nvalues;
};

struct elastic_store {
    struct elastic_lists lists;
    char *block; /* owned; NULL: none yet */
    size_t values_size;
};

int elastic_store_init(struct elastic_store *store, const struct elastic_lists *lists,
                       struct err *err);
void elastic_store_fini(struct elastic_store *store); /* empty is fine */

/* When the first fails the copy is not whole, when the second fails the state is not. */
int elastic_store_save(struct elastic_store *store, struct err *err);
int elastic_store_restore(const struct elastic_store *store, struct err *err);

/* The values of the lists in one piece of store->values_size bytes; and back. */
void elastic_values_pack(const struct elastic_lists *lists, void *packed);
void elastic_values_unpack(const struct elastic_lists *lists, const void *packed);

#endif
