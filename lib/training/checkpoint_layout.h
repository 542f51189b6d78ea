/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes and decodes the bytes in front of a checkpoint's data: head and list, as drawn in
 * checkpoint_file.h. Touches no file. */
#ifndef LIB_TRAINING_CHECKPOINT_LAYOUT_H
#define LIB_TRAINING_CHECKPOINT_LAYOUT_H

#include "lib/base/wire.h"
#include "lib/training/checkpoint_file.h"

#include <stdbool.h>

enum {
    CHECKPOINT_HEAD_SIZE = 24,
    CHECKPOINT_DIGEST_SIZE = 32,
    CHECKPOINT_SIZE_MIN = CHECKPOINT_HEAD_SIZE + CHECKPOINT_DIGEST_SIZE
};

struct checkpoint_head {
    uint64_t size;      /* of the file */
    uint32_t list_size; /* in bytes; the file has as many */
    uint32_t count;     /* of entries; the list has room for as many */
};

/* Appends head and list. The entries have been measured. */
int checkpoint_layout_encode(struct wire_writer *writer, const struct checkpoint_entry *entries,
                             size_t count, struct err *err);

/* Decodes the first CHECKPOINT_HEAD_SIZE bytes of a file, with zeroes beyond its end, and checks
 * its true size. */
int checkpoint_head_decode(struct checkpoint_head *head, const void *bytes, uint64_t file_size,
                           struct err *err);

/* Reads head->list_size bytes into head->count entries. */
int checkpoint_list_decode(struct checkpoint_entry *entries, const struct checkpoint_head *head,
                           const void *bytes, struct err *err);

/* Fills in `nbytes`. False if the data are larger than a file can be. */
bool checkpoint_entry_measure(struct checkpoint_entry *entry);

#endif
