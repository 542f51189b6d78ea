/* SPDX-License-Identifier: Apache-2.0 */
/* The motion of ring collectives; see ring_flow.h. */
#include "lib/collective/ring_flow.h"

#include "lib/collective/ring_schedule.h"

#include <assert.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Leaves behind the blocks that are complete, and the empty ones. */
static void settle(const struct ring_flow *flow, struct ring_cursor *cursor,
                   struct ring_block (*block)(const struct ring_task *task, int step))
{
    while (cursor->step < flow->steps && cursor->done == block(&flow->task, cursor->step).nbytes) {
        cursor->step++;
        cursor->done = 0;
    }
}

void ring_flow_init(struct ring_flow *flow, const struct ring_flow_type *type,
                    const struct ring_task *task, int steps, const void *first)
{
    *flow = (struct ring_flow){ .type = type, .task = *task, .steps = steps, .first = first };
    settle(flow, &flow->out, type->outgoing);
    settle(flow, &flow->in, type->incoming);
}

/* How many bytes of the outgoing block may have been sent by now. */
static size_t sendable(const struct ring_flow *flow, size_t nbytes)
{
    int source = flow->out.step - 1;
    if (source < 0 || flow->in.step > source)
        return nbytes;
    return flow->in.step == source ? flow->in.done : 0;
}

const void *ring_flow_output(const struct ring_flow *flow, size_t *nbytes)
{
    *nbytes = 0;
    if (flow->out.step == flow->steps)
        return NULL;
    struct ring_block block = flow->type->outgoing(&flow->task, flow->out.step);
    const unsigned char *source = flow->out.step == 0 ? flow->first : flow->task.output;
    *nbytes = least(sendable(flow, block.nbytes) - flow->out.done, RING_SEGMENT);
    return *nbytes > 0 ? source + block.offset + flow->out.done : NULL;
}

void ring_flow_sent(struct ring_flow *flow, size_t nbytes)
{
    flow->out.done += nbytes;
    settle(flow, &flow->out, flow->type->outgoing);
}

void *ring_flow_space(struct ring_flow *flow, size_t *nbytes)
{
    *nbytes = 0;
    if (flow->in.step == flow->steps)
        return NULL;
    struct ring_block block = flow->type->incoming(&flow->task, flow->in.step);
    size_t missing = block.nbytes - flow->in.done - flow->staged;
    *nbytes = least(missing, RING_SEGMENT - flow->staged);
    if (flow->type->combine)
        return (unsigned char *)flow->task.staging + flow->staged;
    return flow->task.output + block.offset + flow->in.done;
}

/* Combines the whole elements among the staged bytes and keeps the rest. Returns the bytes
 * combined. */
static size_t combine_staged(struct ring_flow *flow)
{
    struct ring_block block = flow->type->incoming(&flow->task, flow->in.step);
    unsigned char *staging = flow->task.staging;
    size_t rest = flow->staged % flow->task.element_size;
    size_t whole = flow->staged - rest;
    bool last_step = flow->in.step == flow->steps - 1;
    if (whole > 0)
        flow->type->combine(&flow->task, last_step, block.offset + flow->in.done, staging, whole);
    memmove(staging, staging + whole, rest);
    flow->staged = rest;
    return whole;
}

void ring_flow_received(struct ring_flow *flow, size_t nbytes)
{
    assert(flow->in.step < flow->steps);
    if (flow->type->combine) {
        flow->staged += nbytes;
        nbytes = combine_staged(flow);
    }
    flow->in.done += nbytes;
    settle(flow, &flow->in, flow->type->incoming);
}

bool ring_flow_done(const struct ring_flow *flow)
{
    return flow->out.step == flow->steps && flow->in.step == flow->steps;
}

struct ring_block ring_chunk_block(const struct ring_task *task, int chunk)
{
    size_t start = chunk_start(task->count, task->size, chunk);
    size_t count = chunk_count(task->count, task->size, chunk);
    return (struct ring_block){ start * task->element_size, count * task->element_size };
}
