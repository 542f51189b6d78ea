/* SPDX-License-Identifier: Apache-2.0 */
/* Reduce-scatter: partial results travel around the ring, and every rank adds its own operands to
 * each but the one it begins. A chunk is combined in the same order in every run and divided once,
 * by the rank that ends up owning it, so all ranks get the same bits. */
#include "lib/collective/ring_flow.h"
#include "lib/collective/ring_schedule.h"

static struct ring_block outgoing(const struct ring_task *task, int step)
{
    return ring_chunk_block(task, reduce_scatter_sends(task->rank, task->size, step));
}

static struct ring_block incoming(const struct ring_task *task, int step)
{
    return ring_chunk_block(task, reduce_scatter_receives(task->rank, task->size, step));
}

static void combine(const struct ring_task *task, bool last_step, size_t offset,
                    const void *received, size_t nbytes)
{
    size_t count = nbytes / task->element_size;
    const void *own = task->input + offset;
    if (last_step && task->divide)
        task->divide(task->output + offset, received, own, count, task->size);
    else
        task->reduce(task->output + offset, received, own, count);
}

static const struct ring_flow_type reduce_scatter_ring = { outgoing, incoming, combine };

void reduce_scatter_ring_start(struct ring_flow *flow, const struct ring_task *task)
{
    ring_flow_init(flow, &reduce_scatter_ring, task, ring_steps(task->size), task->input);
}
