/* SPDX-License-Identifier: Apache-2.0 */
/* Allgather: each rank passes its own chunk on, then what it received, until every chunk has been
 * everywhere. */
#include "lib/collective/ring_flow.h"
#include "lib/collective/ring_schedule.h"

static struct ring_block outgoing(const struct ring_task *task, int step)
{
    return ring_chunk_block(task, allgather_sends(task->rank, task->size, step));
}

static struct ring_block incoming(const struct ring_task *task, int step)
{
    return ring_chunk_block(task, allgather_receives(task->rank, task->size, step));
}

static const struct ring_flow_type allgather_ring = { outgoing, incoming, NULL };

void allgather_ring_start(struct ring_flow *flow, const struct ring_task *task)
{
    ring_flow_init(flow, &allgather_ring, task, ring_steps(task->size), task->output);
}
