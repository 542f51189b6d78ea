/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast: a chain that begins at the root. Who receives (step 0) passes on (step 1) while it
 * receives; the rank before the root passes nothing on. */
#include "lib/collective/ring_flow.h"
#include "lib/collective/ring_schedule.h"

static struct ring_block all_if(const struct ring_task *task, bool wanted)
{
    return (struct ring_block){ 0, wanted ? task->count * task->element_size : 0 };
}

static struct ring_block outgoing(const struct ring_task *task, int step)
{
    int distance = broadcast_distance(task->rank, task->size, task->root);
    bool is_last = distance == task->size - 1;
    return all_if(task, !is_last && step == (distance == 0 ? 0 : 1));
}

static struct ring_block incoming(const struct ring_task *task, int step)
{
    return all_if(task, task->rank != task->root && step == 0);
}

static const struct ring_flow_type broadcast_ring = { outgoing, incoming, NULL };

void broadcast_ring_start(struct ring_flow *flow, const struct ring_task *task)
{
    ring_flow_init(flow, &broadcast_ring, task, 2, task->output);
}
