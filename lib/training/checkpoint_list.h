/* SPDX-License-Identifier: Apache-2.0 */
/* A program's list of tensors and scalars for a checkpoint, and its comparison with a file's list.
 * Touches no file and no other rank. */
#ifndef LIB_TRAINING_CHECKPOINT_LIST_H
#define LIB_TRAINING_CHECKPOINT_LIST_H

#include "lib/base/wire.h"
#include "lib/hvd_training.h"
#include "lib/training/checkpoint_file.h"

/* The memory of an entry's data. */
struct checkpoint_memory {
    void *data; /* the program's */
    int device;
};

/* The tensors in the order of their names, then the scalars likewise. */
struct checkpoint_list {
    struct checkpoint_entry *entries; /* owned */
    struct checkpoint_memory *memory; /* owned; of each entry */
    size_t count;
};

/* Fails as parameters_sort() and scalars_sort() do; the list is empty then. */
int checkpoint_list_init(struct checkpoint_list *list, const struct hvd_checkpoint *checkpoint,
                         struct err *err);

/* Empty is fine. */
void checkpoint_list_fini(struct checkpoint_list *list);

/* Appends a line for each entry, for agreement_compare(), and a NUL. */
void checkpoint_list_put_lines(struct wire_writer *lines, const struct checkpoint_list *list);

/* Compares the list with a file's entries. HVD_OK if they are the same: then places[i] is the place
 * in `found` of list->entries[i]. Otherwise HVD_ERR_INVALID, about the first entry, in the order of
 * kinds and names, that only one of them has, or that differs. */
int checkpoint_list_match(const struct checkpoint_list *list, const struct checkpoint_entry *found,
                          size_t nfound, size_t *places, struct err *err);

#endif
