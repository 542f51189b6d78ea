/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast: a chain that begins at the root. A rank passes data on (step 1) while it receives them
 * (step 0); the rank before the root passes nothing on. */
#include "lib/collective/ring.h"
#include "lib/collective/ring_schedule.h"

struct operation *broadcast_ring_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err)
{
    struct ring *ring = ring_create(store, task, 1, err);
    if (!ring)
        return NULL;
    ring_cut(ring, task->count, dtype_size((int)task->dtype));
    struct ring_flow *flow = &ring->flow;
    int distance = broadcast_distance(task->rank, task->size, task->root);
    bool is_root = distance == 0, is_last = distance == task->size - 1;
    flow->first = flow->memory = task->output;
    flow->in.end = is_root ? 0 : 1;
    flow->out.step = flow->in.end;
    flow->out.end = flow->out.step + (is_last ? 0 : 1);
    return ring_begin(ring);
}
