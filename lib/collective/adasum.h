/* SPDX-License-Identifier: Apache-2.0 */
/* Adasum as an operation, for any number of ranks from 2 on: recursive halving, see
 * adasum_schedule.h; what two vectors become, see adasum_math.h.
 *
 * A step is over when everything has been sent and received; then this rank computes, and the next
 * begins. What a faster peer sends for later steps is taken at once, and has its place: an
 * operation that let it wait would hold up those that share its links, and those it, around the
 * world.
 *
 * Dot products are taken in blocks as the bytes come, the same blocks however those are cut; all
 * ranks of a group add them up in the same order, and every element of the result is computed by
 * one rank: so all ranks get the same bits, and a run repeats exactly.
 *
 * A tensor is one vector: Adasum of tensors that lie one behind the other is another thing.
 *
 * Takes about as much memory as the vector; in place, twice that on a rank that is given another's.
 * Fails with HVD_ERR_NOMEM, and HVD_ERR_PROTOCOL when bytes come that nobody awaits. */
#ifndef LIB_COLLECTIVE_ADASUM_H
#define LIB_COLLECTIVE_ADASUM_H

#include "lib/collective/operation.h"

/* The element type is a floating-point one. Uses of the task: rank, size, dtype, input, output and
 * count; staging may be NULL. */
struct operation *adasum_start(struct operation_store *store, const struct operation_task *task,
                               struct err *err);

#endif
