/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of ring collectives; see ring_flow.h. */
#include "lib/collective/ring_flow.h"

#include "lib/base/topology.h"

#include <assert.h>
#include <string.h>

static size_t chunk_size(const struct ring_flow *flow, const struct ring_cursor *cursor)
{
    return flow->bounds[cursor->chunk + 1] - flow->bounds[cursor->chunk];
}

/* Advances past the chunks that are complete, and past empty chunks. */
static void skip_completed_chunks(const struct ring_flow *flow, struct ring_cursor *cursor)
{
    while (cursor->step < cursor->end && cursor->done == chunk_size(flow, cursor)) {
        cursor->step++;
        cursor->chunk = ring_left(cursor->chunk, flow->chunks);
        cursor->done = 0;
    }
}

/* Advances by so many bytes, of one chunk or several. */
static void ring_flow_advance(const struct ring_flow *flow, struct ring_cursor *cursor,
                              size_t nbytes)
{
    while (nbytes > 0) {
        size_t left = chunk_size(flow, cursor) - cursor->done;
        size_t part = nbytes < left ? nbytes : left;
        cursor->done += part;
        nbytes -= part;
        skip_completed_chunks(flow, cursor);
    }
}

void ring_flow_begin(struct ring_flow *flow)
{
    flow->staged = 0;
    skip_completed_chunks(flow, &flow->out);
    skip_completed_chunks(flow, &flow->in);
}

/* How many bytes of an outgoing chunk may have been sent by now. */
static size_t sendable(const struct ring_flow *flow, const struct ring_cursor *out)
{
    int source = out->step - 1;
    if (source < 0 || flow->in.step > source)
        return chunk_size(flow, out);
    return flow->in.step == source ? flow->in.done : 0;
}

const void *ring_flow_output(const struct ring_flow *flow, size_t ahead, size_t *nbytes)
{
    struct ring_cursor out = flow->out;
    *nbytes = 0;
    ring_flow_advance(flow, &out, ahead);
    if (out.step == out.end)
        return NULL;
    *nbytes = sendable(flow, &out) - out.done;
    const unsigned char *source = out.step == 0 ? flow->first : flow->memory;
    return *nbytes > 0 ? source + flow->bounds[out.chunk] + out.done : NULL;
}

void ring_flow_sent(struct ring_flow *flow, size_t nbytes)
{
    ring_flow_advance(flow, &flow->out, nbytes);
}

static bool is_reducing(const struct ring_flow *flow)
{
    return flow->in.step < flow->reduction.steps;
}

static bool is_last_reduction(const struct ring_flow *flow)
{
    return flow->in.step == flow->reduction.steps - 1;
}

void *ring_flow_space(const struct ring_flow *flow, size_t *nbytes)
{
    *nbytes = 0;
    if (flow->in.step == flow->in.end)
        return NULL;
    *nbytes = chunk_size(flow, &flow->in) - flow->in.done - flow->staged;
    if (!is_reducing(flow))
        return flow->memory + flow->bounds[flow->in.chunk] + flow->in.done;
    if (*nbytes > OPERATION_STAGING - flow->staged)
        *nbytes = OPERATION_STAGING - flow->staged;
    return flow->reduction.staging + flow->staged;
}

static void ring_flow_combine(const struct ring_flow *flow, const void *incoming, size_t count)
{
    const struct ring_reduction *reduction = &flow->reduction;
    size_t chunk = flow->bounds[flow->in.chunk], done = flow->in.done;
    const void *own = reduction->own + chunk + done;
    void *out = is_last_reduction(flow) ? reduction->result + done : flow->memory + chunk + done;
    if (is_last_reduction(flow) && reduction->divide)
        thread_pool_divide(reduction->pool, reduction->divide, out, incoming, own, count,
                           reduction->divisor, reduction->element_size);
    else
        thread_pool_reduce(reduction->pool, reduction->reduce, out, incoming, own, count,
                           reduction->element_size);
}

/* Combines the whole elements among the staged bytes and keeps the rest. Returns the bytes
 * combined. */
static size_t combine_staged(struct ring_flow *flow)
{
    unsigned char *staging = flow->reduction.staging;
    size_t rest = flow->staged % flow->reduction.element_size, whole = flow->staged - rest;
    if (whole > 0)
        ring_flow_combine(flow, staging, whole / flow->reduction.element_size);
    memmove(staging, staging + whole, rest);
    flow->staged = rest;
    return whole;
}

void ring_flow_received(struct ring_flow *flow, size_t nbytes)
{
    assert(flow->in.step < flow->in.end);
    if (is_reducing(flow)) {
        flow->staged += nbytes;
        nbytes = combine_staged(flow);
    }
    flow->in.done += nbytes;
    skip_completed_chunks(flow, &flow->in);
}

size_t ring_flow_take(struct ring_flow *flow, const void *data, size_t nbytes)
{
    size_t left = chunk_size(flow, &flow->in) - flow->in.done;
    if (flow->in.step == flow->in.end || !is_reducing(flow) || flow->staged > 0)
        return 0;
    size_t count = (nbytes < left ? nbytes : left) / flow->reduction.element_size;
    if (count == 0)
        return 0;
    ring_flow_combine(flow, data, count);
    flow->in.done += count * flow->reduction.element_size;
    skip_completed_chunks(flow, &flow->in);
    return count * flow->reduction.element_size;
}

bool ring_flow_done(const struct ring_flow *flow)
{
    return flow->out.step == flow->out.end && flow->in.step == flow->in.end;
}
