/* SPDX-License-Identifier: Apache-2.0 */
/* Operations over the ring; see ring.h. In a ring of two both neighbours are the same rank. */
#include "lib/collective/ring.h"

#include "lib/collective/ring_schedule.h"

static struct ring *ring_of(const struct operation *operation)
{
    return (struct ring *)(void *)operation;
}

static const void *ring_output(struct operation *operation, int peer, size_t ahead, size_t *nbytes)
{
    const struct ring *ring = ring_of(operation);
    *nbytes = 0;
    return peer == ring->right ? ring_flow_output(&ring->flow, ahead, nbytes) : NULL;
}

static bool ring_done(const struct operation *operation)
{
    return ring_flow_done(&ring_of(operation)->flow);
}

static void finish_if_done(struct ring *ring)
{
    if (ring->last_move.nbytes > 0 && ring_flow_done(&ring->flow))
        last_move_make(&ring->last_move);
}

static void ring_sent(struct operation *operation, int peer, size_t nbytes)
{
    (void)peer;
    ring_flow_sent(&ring_of(operation)->flow, nbytes);
    finish_if_done(ring_of(operation));
}

static void *ring_space(struct operation *operation, int peer, size_t *nbytes)
{
    const struct ring *ring = ring_of(operation);
    *nbytes = 0;
    return peer == ring->left ? ring_flow_space(&ring->flow, nbytes) : NULL;
}

static int ring_received(struct operation *operation, int peer, size_t nbytes, struct err *err)
{
    (void)peer;
    (void)err;
    ring_flow_received(&ring_of(operation)->flow, nbytes);
    finish_if_done(ring_of(operation));
    return HVD_OK;
}

static ssize_t ring_take(struct operation *operation, int peer, const void *data, size_t nbytes,
                         struct err *err)
{
    struct ring *ring = ring_of(operation);
    (void)err;
    if (peer != ring->left)
        return 0;
    size_t used = ring_flow_take(&ring->flow, data, nbytes);
    finish_if_done(ring);
    return (ssize_t)used;
}

static void ring_fini(struct operation *operation)
{
    operation_free(ring_of(operation)->store, ring_of(operation)->scratch);
}

static const struct operation_type ring_type = {
    .algorithm = "ring",
    .output = ring_output,
    .sent = ring_sent,
    .space = ring_space,
    .received = ring_received,
    .take = ring_take,
    .done = ring_done,
    .fini = ring_fini,
};

struct ring *ring_create(struct operation_store *store, const struct operation_task *task,
                         int chunks, struct err *err)
{
    size_t bounds = (size_t)chunks + 1;
    struct ring *ring = operation_alloc(store, sizeof *ring + bounds * sizeof *ring->bounds);
    if (!ring) {
        fail(err, HVD_ERR_NOMEM, "no memory for an operation of %d ranks", task->size);
        return NULL;
    }
    *ring = (struct ring){
        .operation.type = &ring_type,
        .store = store,
        .left = ring_left(task->rank, task->size),
        .right = ring_right(task->rank, task->size),
        .flow = { .bounds = ring->bounds, .chunks = chunks, .reduction.staging = task->staging },
    };
    return ring;
}

void ring_cut(struct ring *ring, size_t count, size_t size)
{
    for (int chunk = 0; chunk <= ring->flow.chunks; chunk++)
        ring->bounds[chunk] = chunk_start(count, ring->flow.chunks, chunk) * size;
}

void ring_reduce(struct ring *ring, const struct operation_task *task, void *result)
{
    struct ring_flow *flow = &ring->flow;
    flow->first = task->input;
    flow->reduction = (struct ring_reduction){
        .steps = ring_steps(task->size),
        .own = task->input,
        .result = result,
        .element_size = dtype_size((int)task->dtype),
        .reduce = reduce_function(task->dtype, task->op),
        .divide = task->op == HVD_AVERAGE ? divide_function(task->dtype) : NULL,
        .divisor = task->size,
        .pool = task->pool,
        .staging = task->staging,
    };
    flow->out.chunk = reduce_scatter_sends(task->rank, task->size, 0);
    flow->in.chunk = reduce_scatter_receives(task->rank, task->size, 0);
    flow->out.end = flow->in.end = ring_steps(task->size);
}

struct operation *ring_begin(struct ring *ring)
{
    ring_flow_begin(&ring->flow);
    return &ring->operation;
}
