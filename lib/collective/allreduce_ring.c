/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce: a reduce-scatter, then an allgather. A chunk is combined in the same order in every
 * run and divided once, by the rank that ends up owning the chunk, so all ranks get the same bits.
 *
 * The chunk that a rank owns after the reduce-scatter is the first chunk that it sends in the
 * allgather, and so on around the ring: both form one flow without a pause in between. A final
 * chunk overwrites only data that have been sent, because the final sum needs these data. */
#include "lib/collective/ring.h"
#include "lib/collective/ring_schedule.h"

struct operation *allreduce_ring_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err)
{
    struct ring *ring = ring_create(store, task, task->size, err);
    if (!ring)
        return NULL;
    ring_cut(ring, task->count, dtype_size((int)task->dtype));
    unsigned char *output = task->output;
    ring_reduce(ring, task, task->count > 0 ? output + ring->bounds[task->rank] : output);
    ring->flow.memory = output;
    ring->flow.out.end = ring->flow.in.end = 2 * ring_steps(task->size);
    return ring_begin(ring);
}
