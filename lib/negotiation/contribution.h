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

enum { ROWS_BYTES = 8 }; /* a number of rows, i64 little-endian */

/* Contributions that begin with numbers of rows: how many bytes they are, which come with RUN, too.
 * An allgather has one, its dims[0]; an alltoall has one for each rank that gets rows, of `size`
 * ranks. 0 for the other kinds. */
size_t contribution_rows_bytes(enum collective_kind kind, int size);

/* True if ranks that have joined can take part, with zeros. */
bool description_can_join(const struct description *description);

/* True for the kinds that a steady state can carry out (steady.h). */
bool description_can_be_steady(const struct description *description);

/* The number of bytes contributed to a name, in all. */
size_t contribution_total(const struct pending *entry);

/* For an allgather: the rows of all ranks of this subtree, as these ranks claim. */
uint64_t contribution_rows(const struct pending *entry, const struct tree_position *tree);

/* For a kind with numbers of rows: the greatest of those of all ranks of this subtree, as these
 * ranks claim. */
uint64_t contribution_most_rows(const struct pending *entry, const struct tree_position *tree,
                                enum collective_kind kind, int size);

/* Appends the list of the ranks of this subtree, each rank's part cut to its first `most` bytes. */
void contribution_put_list(struct wire_writer *writer, const struct pending *entry,
                           const struct tree_position *tree, size_t most);

/* The `most` for a list whose data are `complete`, or are moved later. */
size_t contribution_list_most(enum collective_kind kind, int size, bool complete);

/* Reads a list of `nranks` ranks: the beginning of the bytes, and how many each rank contributed.
 * The reader fails if the list is incomplete. */
const unsigned char *contribution_get_list(struct wire_reader *reader, size_t nranks,
                                           size_t *nbytes);

/* Reduces the contributions, in order of rank, into the first part that exists, whose bytes are
 * returned (NULL: empty tensors). At the root `size` is the size of the set, for the last steps:
 * absent ranks contribute zeros, and an average is divided; below the root `size` is 0. */
const unsigned char *contribution_reduce(struct pending *entry,
                                         const struct description *description, int size,
                                         bool absent);

#endif
