/* SPDX-License-Identifier: Apache-2.0 */
/* A ring_flow as an operation (operation.h): the base of all collectives over the ring. Each
 * collective fills in its memory, its chunks and the number of steps; this file has the common
 * rest. */
#ifndef LIB_COLLECTIVE_RING_H
#define LIB_COLLECTIVE_RING_H

#include "lib/collective/operation_impl.h"
#include "lib/collective/ring_flow.h"

struct ring {
    struct operation operation;
    struct operation_store *store;
    int left, right;
    void *scratch; /* of the store, or NULL */

    struct last_move last_move;

    struct ring_flow flow;
    size_t bounds[]; /* the flow's */
};

/* A ring whose flow has staging, `chunks` chunks and all other fields zero; NULL and `err` when out
 * of memory. */
struct ring *ring_create(struct operation_store *store, const struct operation_task *task,
                         int chunks, struct err *err);

/* Cuts `count` items of `size` bytes into chunks that differ by one item at most. */
void ring_cut(struct ring *ring, size_t count, size_t size);

/* Sets the flow up as a reduce-scatter: the first size - 1 steps combine the own operands,
 * `task->input`, and the last one divides for an average; the own chunk goes to `result`. */
void ring_reduce(struct ring *ring, const struct operation_task *task, void *result);

struct operation *ring_begin(struct ring *ring);

struct operation *allreduce_ring_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err);
struct operation *reduce_scatter_ring_start(struct operation_store *store,
                                            const struct operation_task *task, struct err *err);
struct operation *allgather_ring_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err);
struct operation *broadcast_ring_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err);

#endif
