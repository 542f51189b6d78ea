/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunk each rank of a ring sends at each step. Pure arithmetic.
 *
 * Data goes from each rank to the next. A rank sends at step k + 1 the chunk that it received at
 * step k. Ranks, chunks and steps count from 0; every function expects 0 <= rank < size. */
#ifndef LIB_COLLECTIVE_RING_SCHEDULE_H
#define LIB_COLLECTIVE_RING_SCHEDULE_H

#include "lib/base/topology.h"

#include <stddef.h>

/* A reduce-scatter and an allgather take this many steps each. */
int ring_steps(int size);

/* The chunk that `rank` sends, or receives, at `step` of a reduce-scatter; rank r ends up owning
 * chunk r, which began at rank r + 1. */
int reduce_scatter_sends(int rank, int size, int step);
int reduce_scatter_receives(int rank, int size, int step);

/* The chunk likewise, in an allgather that begins with rank r owning chunk r. */
int allgather_sends(int rank, int size, int step);
int allgather_receives(int rank, int size, int step);

/* How many ranks lie between the root of a broadcast and `rank`, along the ring: 0 for the root,
 * size - 1 for the last, which passes nothing on. */
int broadcast_distance(int rank, int size, int root);

/* First element of `chunk` when `count` elements are cut into `chunks` parts that differ by at most
 * one element; chunk == chunks gives the end of the last. */
size_t chunk_start(size_t count, int chunks, int chunk);
size_t chunk_count(size_t count, int chunks, int chunk);

#endif
