/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that consist of exchanges; see exchange.h. */
#include "lib/collective/exchange.h"

static struct exchange_operation *exchange_of(const struct operation *operation)
{
    return (struct exchange_operation *)(void *)operation;
}

/* Exchanges with all the others are mostly in order of rank. */
static int exchange_find(const struct exchange_operation *own, int peer)
{
    return exchange_flow_find(own->flow, peer, peer < own->rank ? peer : peer - 1);
}

static void finish_if_done(struct exchange_operation *own)
{
    if (own->last_move.nbytes > 0 && exchange_flow_done(own->flow))
        last_move_make(&own->last_move);
}

const void *exchange_output(struct operation *operation, int peer, size_t ahead, size_t *nbytes)
{
    struct exchange_operation *own = exchange_of(operation);
    int index = exchange_find(own, peer);
    *nbytes = 0;
    return index < 0 ? NULL : exchange_flow_output(own->flow, index, ahead, nbytes);
}

void exchange_sent(struct operation *operation, int peer, size_t nbytes)
{
    struct exchange_operation *own = exchange_of(operation);
    exchange_flow_sent(own->flow, exchange_find(own, peer), nbytes);
    finish_if_done(own);
}

void *exchange_space(struct operation *operation, int peer, size_t *nbytes)
{
    struct exchange_operation *own = exchange_of(operation);
    int index = exchange_find(own, peer);
    *nbytes = 0;
    return index < 0 ? NULL : exchange_flow_space(own->flow, index, nbytes);
}

int exchange_received(struct operation *operation, int peer, size_t nbytes, struct err *err)
{
    struct exchange_operation *own = exchange_of(operation);
    int index = exchange_find(own, peer);
    if (index < 0)
        return fail(err, HVD_ERR_PROTOCOL, "nothing is awaited from rank %d of the set", peer);
    int rc = exchange_flow_received(own->flow, index, nbytes, err);
    finish_if_done(own);
    return rc;
}

ssize_t exchange_take(struct operation *operation, int peer, const void *data, size_t nbytes,
                      struct err *err)
{
    struct exchange_operation *own = exchange_of(operation);
    int index = exchange_find(own, peer);
    (void)err;
    if (index < 0)
        return 0;
    size_t taken = exchange_flow_take(own->flow, index, data, nbytes);
    finish_if_done(own);
    return (ssize_t)taken;
}

bool exchange_done(const struct operation *operation)
{
    return exchange_flow_done(exchange_of(operation)->flow);
}

void exchange_fini(struct operation *operation)
{
    operation_free(exchange_of(operation)->store, exchange_of(operation)->scratch);
}

struct combiner combiner_of(const struct operation_task *task)
{
    return (struct combiner){
        .reduce = reduce_function(task->dtype, task->op),
        .divide = task->op == HVD_AVERAGE ? divide_function(task->dtype) : NULL,
        .divisor = task->size,
        .element_size = dtype_size((int)task->dtype),
        .pool = task->pool,
    };
}

void combiner_apply(const struct combiner *combiner, unsigned char *out, const unsigned char *left,
                    const unsigned char *right, size_t nbytes, bool last)
{
    size_t size = combiner->element_size, count = nbytes / size;
    if (last && combiner->divide)
        thread_pool_divide(combiner->pool, combiner->divide, out, left, right, count,
                           combiner->divisor, size);
    else
        thread_pool_reduce(combiner->pool, combiner->reduce, out, left, right, count, size);
}

/* A block fits three times into a near cache, or is large enough to be divided among threads. */
size_t combiner_block(const struct combiner *combiner)
{
    return combiner->pool ? 256 * 1024 : 64 * 1024;
}
