/* SPDX-License-Identifier: Apache-2.0 */
/* Code that the operations of doubling share; see doubling.h. */
#include "lib/collective/doubling.h"

#include "lib/collective/exchange_schedule.h"

/* The rank that is folded out sends its vector and gets the result. The result overwrites only data
 * that have been read, because it could not have been made without them. */
static void fold(struct doubling *doubling, struct exchange *exchange)
{
    size_t nbytes = doubling->nbytes;
    if (doubling_is_extra(doubling->rank, doubling->size)) {
        exchange->operands = doubling->input;
        exchange->operands_size = nbytes;
        exchange->place = doubling->output;
        exchange->place_size = nbytes;
    } else {
        exchange->awaited = nbytes;
        exchange->results = doubling->output;
        exchange->results_size = nbytes;
    }
}

static void doubling_fill(struct doubling *doubling, const struct operation_task *task)
{
    int peers[DOUBLING_PEERS_MAX];
    doubling->flow.count = doubling_peers(task->rank, task->size, peers);
    for (int i = 0; i < doubling->flow.count; i++)
        doubling->exchanges[i] = (struct exchange){ .peer = peers[i] };
    if (doubling_fold_peer(task->rank, task->size) >= 0)
        fold(doubling, &doubling->exchanges[0]);
}

struct doubling *doubling_create(struct operation_store *store, const struct operation_task *task,
                                 const struct operation_type *type,
                                 const struct exchange_rules *rules, struct err *err)
{
    size_t most = (size_t)doubling_levels(task->size) + 1;
    struct doubling *doubling =
        operation_alloc(store, sizeof *doubling + most * sizeof *doubling->exchanges);
    if (!doubling) {
        fail(err, HVD_ERR_NOMEM, "no memory for an operation of %d ranks", task->size);
        return NULL;
    }
    struct combiner combiner = combiner_of(task);
    *doubling = (struct doubling){
        .base = { .operation.type = type,
                  .store = store,
                  .flow = &doubling->flow,
                  .rank = task->rank },
        .flow = { .rules = rules,
                  .exchanges = doubling->exchanges,
                  .element_size = dtype_size((int)task->dtype),
                  .piece = EXCHANGE_IN_SEQUENCE,
                  .block = combiner_block(&combiner),
                  .staging = task->staging },
        .combiner = combiner,
        .input = task->input,
        .output = task->output,
        .count = task->count,
        .nbytes = task->count * dtype_size((int)task->dtype),
        .rank = task->rank,
        .size = task->size,
        .levels = doubling_levels(task->size),
        .folds = doubling_fold_peer(task->rank, task->size) >= 0,
    };
    doubling_fill(doubling, task);
    return doubling;
}

bool doubling_combines(const struct doubling *doubling)
{
    return doubling->nbytes > 0 && !doubling_is_extra(doubling->rank, doubling->size);
}

int doubling_level(const struct doubling *doubling, int index)
{
    return index - doubling->folds;
}

bool doubling_is_last(const struct doubling *doubling, int index)
{
    return doubling_level(doubling, index) == doubling->levels - 1;
}

bool doubling_is_left(const struct doubling *doubling, int index)
{
    int level = doubling_level(doubling, index);
    return level < 0 || doubling_is_low(doubling->rank, doubling->size, level);
}

int doubling_allocate(struct doubling *doubling, size_t nbytes, struct err *err)
{
    struct operation_store *store = doubling->base.store;
    if (nbytes == 0 || (doubling->base.scratch = operation_alloc(store, nbytes)))
        return HVD_OK;
    operation_free(store, doubling);
    return fail(err, HVD_ERR_NOMEM, "no memory for %zu bytes of partial sums", nbytes);
}

struct operation *doubling_begin(struct doubling *doubling)
{
    exchange_flow_begin(&doubling->flow);
    return &doubling->base.operation;
}
