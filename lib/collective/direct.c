/* SPDX-License-Identifier: Apache-2.0 */
/* Direct collectives of all ranks of a set; see direct.h.
 *
 * A reduce-scatter in place reduces the own rows where they lie. It moves them to the front at the
 * end, because the front holds data to send before. */
#include "lib/collective/direct.h"

#include "lib/collective/direct_flow.h"
#include "lib/collective/ring_schedule.h"
#include "lib/memory/copy.h"
#include "lib/memory/shared_heap.h"

struct direct {
    struct exchange_operation base;
    struct direct_flow flow;
    struct exchange exchanges[];
};

static const struct operation_type type = EXCHANGE_OPERATION_TYPE("direct");

/* Allocates room for the bounds of the shares behind the exchanges. */
static struct direct *direct_create(struct operation_store *store,
                                    const struct operation_task *task, size_t **bounds,
                                    struct err *err)
{
    size_t size = (size_t)task->size;
    struct direct *direct =
        operation_alloc(store, sizeof *direct + (size - 1) * sizeof *direct->exchanges +
                                   (size + 1) * sizeof **bounds);
    if (!direct) {
        fail(err, HVD_ERR_NOMEM, "no memory for an operation of %d ranks", task->size);
        return NULL;
    }
    direct->base = (struct exchange_operation){
        .operation.type = &type,
        .store = store,
        .flow = &direct->flow.flow,
        .rank = task->rank,
    };
    *bounds = (size_t *)(void *)(direct->exchanges + size - 1);
    return direct;
}

/* Cuts `count` items of `size` bytes. */
static void direct_cut(size_t *bounds, const struct operation_task *task, size_t count, size_t size)
{
    for (int rank = 0; rank <= task->size; rank++)
        bounds[rank] = chunk_start(count, task->size, rank) * size;
}

/* The plan is complete except for the fields that are the same for all. */
static struct operation *direct_begin(struct direct *direct, const struct operation_task *task,
                                      struct direct_plan *plan, struct err *err)
{
    plan->self = task->rank;
    plan->members = task->size;
    plan->combiner = combiner_of(task);
    plan->staging = task->staging;
    plan->piece = task->piece;
    size_t scratch = direct_flow_scratch(plan);
    if (scratch > 0 && !(direct->base.scratch = operation_alloc(direct->base.store, scratch))) {
        operation_free(direct->base.store, direct);
        fail(err, HVD_ERR_NOMEM, "no memory for %zu bytes of what may come early", scratch);
        return NULL;
    }
    direct_flow_begin(&direct->flow, plan, direct->exchanges, direct->base.scratch);
    return &direct->base.operation;
}

struct operation *allreduce_direct_start(struct operation_store *store,
                                         const struct operation_task *task, struct err *err)
{
    size_t *bounds;
    struct direct *direct = direct_create(store, task, &bounds, err);
    if (!direct)
        return NULL;
    direct_cut(bounds, task, task->count, dtype_size((int)task->dtype));
    unsigned char *output = task->output;
    struct direct_plan plan = {
        .bounds = bounds,
        .input = task->input,
        .result = task->count > 0 ? output + bounds[task->rank] : output,
        .output = output,
    };
    return direct_begin(direct, task, &plan, err);
}

struct operation *reduce_scatter_direct_start(struct operation_store *store,
                                              const struct operation_task *task, struct err *err)
{
    size_t *bounds;
    struct direct *direct = direct_create(store, task, &bounds, err);
    if (!direct)
        return NULL;
    direct_cut(bounds, task, (size_t)task->rows, task->row_count * dtype_size((int)task->dtype));
    unsigned char *output = task->output;
    size_t start = bounds[task->rank], nbytes = bounds[task->rank + 1] - start;
    bool moves = task->output == task->input && start > 0 && nbytes > 0;
    struct direct_plan plan = {
        .bounds = bounds,
        .input = task->input,
        .result = moves ? output + start : output,
    };
    if (moves)
        direct->base.last_move = (struct last_move){ output, output + start, nbytes };
    return direct_begin(direct, task, &plan, err);
}

/* Links let peers read no smaller pieces in place (shm_method.c). */
enum { MAPPED_LEAST = 64 * 1024 };

/* Peers can map the bytes. */
static bool is_shared(const void *data, size_t nbytes)
{
    struct shared_place place;
    return shared_heap_find(data, nbytes, &place);
}

/* Returns where the own rows are sent from: from the input, whose cache lines the peers may still
 * have, while those of the copy have to be taken from this processor. Fetched from the copy, 256
 * KiB of 2 ranks take twice as long. Only a copy that peers can read in place, where they cannot
 * read the input in place, is better. */
static unsigned char *place_own_rows(const struct operation_task *task, unsigned char *to,
                                     size_t nbytes)
{
    if (nbytes == 0 || to == task->input)
        return to;
    copy_result(to, task->input, nbytes);
    bool is_copy_better =
        nbytes >= MAPPED_LEAST && is_shared(to, nbytes) && !is_shared(task->input, nbytes);
    return is_copy_better ? to : (unsigned char *)task->input;
}

struct operation *allgather_direct_start(struct operation_store *store,
                                         const struct operation_task *task, struct err *err)
{
    size_t *bounds, row_size = task->row_count * dtype_size((int)task->dtype);
    struct direct *direct = direct_create(store, task, &bounds, err);
    if (!direct)
        return NULL;
    bounds[0] = 0;
    for (int rank = 0; rank < task->size; rank++)
        bounds[rank + 1] = bounds[rank] + (size_t)task->splits[rank] * row_size;
    unsigned char *output = task->output;
    size_t start = bounds[task->rank], nbytes = bounds[task->rank + 1] - start;
    unsigned char *own = place_own_rows(task, nbytes > 0 ? output + start : output, nbytes);
    struct direct_plan plan = { .bounds = bounds, .result = own, .output = output };
    return direct_begin(direct, task, &plan, err);
}
