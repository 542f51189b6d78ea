/* SPDX-License-Identifier: Apache-2.0 */
/* Adasum as an operation, for 2 or more ranks. The algorithm is recursive halving
 * (adasum_schedule.h); adasum_math.h combines two vectors.
 *
 * A step is over when all its data have been sent and received; then this rank computes, and the
 * next step begins. Data that a faster peer sends for later steps is taken at once into memory of
 * its own. An operation that let the data wait would hold up the operations that share its links,
 * which would hold it up in turn, around the world.
 *
 * Dot products are computed in blocks as the bytes come; the blocks do not depend on how the bytes
 * are cut. All ranks of a group add the blocks up in the same order, and one rank computes each
 * element of the result. So all ranks get the same bits, and every run gives the same result.
 *
 * A tensor is one vector: the Adasum of several tensors in one buffer is not the Adasum of each.
 *
 * Takes about as much memory as the vector; in place, twice as much on a rank that receives the
 * vector of a folded rank. Fails with HVD_ERR_NOMEM, and with HVD_ERR_PROTOCOL on unexpected
 * bytes. */
#ifndef LIB_COLLECTIVE_ADASUM_H
#define LIB_COLLECTIVE_ADASUM_H

#include "lib/collective/operation.h"

/* The element type must be a floating-point one. Uses these fields of the task: rank, size, dtype,
 * input, output and count; staging may be NULL. */
struct operation *adasum_start(struct operation_store *store, const struct operation_task *task,
                               struct err *err);

#endif
