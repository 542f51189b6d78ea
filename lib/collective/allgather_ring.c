/* SPDX-License-Identifier: Apache-2.0 */
/* Allgather: each rank sends its own rows, then passes on the rows that it receives, until every
 * rank has all rows. */
#include "lib/collective/ring.h"
#include "lib/collective/ring_schedule.h"

#include <string.h>

static void cut_by_rank(struct ring *ring, const struct operation_task *task)
{
    size_t row_size = task->row_count * dtype_size((int)task->dtype);
    ring->bounds[0] = 0;
    for (int rank = 0; rank < task->size; rank++)
        ring->bounds[rank + 1] = ring->bounds[rank] + (size_t)task->splits[rank] * row_size;
}

static void place_own_rows(const struct ring *ring, const struct operation_task *task)
{
    size_t start = ring->bounds[task->rank], nbytes = ring->bounds[task->rank + 1] - start;
    if (nbytes > 0 && (unsigned char *)task->output + start != task->input)
        memcpy((unsigned char *)task->output + start, task->input, nbytes);
}

struct operation *allgather_ring_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err)
{
    struct ring *ring = ring_create(store, task, task->size, err);
    if (!ring)
        return NULL;
    cut_by_rank(ring, task);
    place_own_rows(ring, task);
    ring->flow.first = ring->flow.memory = task->output;
    ring->flow.out.chunk = allgather_sends(task->rank, task->size, 0);
    ring->flow.in.chunk = allgather_receives(task->rank, task->size, 0);
    ring->flow.out.end = ring->flow.in.end = ring_steps(task->size);
    return ring_begin(ring);
}
