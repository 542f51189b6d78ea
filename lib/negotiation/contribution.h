/* SPDX-License-Identifier: Apache-2.0 */
/* The contributions of ranks to a name, combined in order of rank: a reduction, or a list.
 *
 *   reduction: its bytes, as many as the description says
 *   list: a u32 for each rank, its number of bytes, then the bytes, in the same order */
#ifndef LIB_NEGOTIATION_CONTRIBUTION_H
#define LIB_NEGOTIATION_CONTRIBUTION_H

#include "lib/base/wire.h"
#include "lib/negotiation/pending.h"

#include <stdbool.h>
#include <stddef.h>

enum { ROWS_BYTES = 8 }; /* of an allgather, that come with RUN: its dims[0] */

/* Can ranks that have joined take part, with zeros? */
bool description_can_join(const struct description *description);

/* Bytes that were given under a name, in all. */
size_t contribution_total(const struct pending *entry);

/* Of an allgather: the rows of all ranks of this subtree, as they say. */
uint64_t contribution_rows(const struct pending *entry, const struct tree_position *tree);

/* Appends the list of the ranks of this subtree. With `whole` false each rank's part is cut to the
 * first ROWS_BYTES. */
void contribution_put_list(struct wire_writer *writer, const struct pending *entry,
                           const struct tree_position *tree, bool whole);

/* Reads a list of `nranks` ranks: where it begins, and how many bytes they gave. The reader fails
 * if it is not all there. */
const unsigned char *contribution_get_list(struct wire_reader *reader, size_t nranks,
                                           size_t *nbytes);

/* Reduces what there is, in order of rank, into the first part that there is, whose bytes are
 * returned (NULL: empty tensors). At the root `size` is that of the set, for the last steps: ranks
 * that are absent give zeros, and an average is divided; below, `size` is 0. */
const unsigned char *contribution_reduce(struct pending *entry,
                                         const struct description *description, int size,
                                         bool absent);

#endif
