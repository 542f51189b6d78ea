/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out decisions, in the order in which the ranks have agreed on them. Each has tensors that
 *
 *   are done with the data that came along -> complete.c
 *   have data to be moved                  -> batch_queue.c
 *   add or remove a process set            -> sets.c
 *   have failed, on all ranks alike
 *
 * Fails with HVD_ERR_PROTOCOL when the data of a decision do not match the description, and
 * HVD_ERR_NOMEM; both break the world. */
#include "lib/engine/engine_impl.h"

#include "lib/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

static const struct err fine = { .code = HVD_OK };

static int check_rows(struct process_set *set, const struct tensor *tensor,
                      const struct agreed *agreed, struct err *err)
{
    for (int rank = 0; rank < set->size; rank++)
        if (!decision_rows_came(agreed, rank, tensor_row_size(tensor)))
            return fail(err, HVD_ERR_PROTOCOL,
                        "allgather '%s': rank %d gave other rows than it says", agreed->name,
                        set->ranks[rank]);
    return HVD_OK;
}

/* The rows lie behind each rank's number of rows. */
static int decision_gather(struct tensor *tensor, const struct agreed *agreed, struct err *err)
{
    struct process_set *set = tensor->set;
    void *memory;
    if (check_rows(set, tensor, agreed, err) < 0)
        return err->code;
    unsigned char *at = complete_place(tensor, agreed->nbytes - 8 * (size_t)set->size, &memory);
    if (!at)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    void *data = at;
    for (int rank = 0; rank < set->size; rank++) {
        size_t nbytes = agreed->offsets[rank + 1] - agreed->offsets[rank] - 8;
        set->decided.rows[rank] = decision_rows(agreed, rank);
        if (nbytes > 0)
            memcpy(at, agreed->data + agreed->offsets[rank] + 8, nbytes);
        at += nbytes;
    }
    complete_rows(tensor, set->decided.rows, set->size, data, memory);
    return HVD_OK;
}

static int check_splits(const struct process_set *set, const struct agreed *agreed, size_t row_size,
                        struct err *err)
{
    for (int rank = 0; rank < set->size; rank++)
        if (!decision_splits_came(agreed, set->size, rank, row_size))
            return fail(err, HVD_ERR_PROTOCOL,
                        "alltoall '%s': rank %d sent other rows than it says", agreed->name,
                        set->ranks[rank]);
    return HVD_OK;
}

/* Each rank's rows for this rank lie behind its rows for the ranks before. */
static int decision_scatter(struct tensor *tensor, const struct agreed *agreed, struct err *err)
{
    struct process_set *set = tensor->set;
    size_t row_size = tensor_row_size(tensor), total = 0;
    int64_t *rows = set->decided.rows;
    void *memory;
    if (check_splits(set, agreed, row_size, err) < 0)
        return err->code;
    for (int rank = 0; rank < set->size; rank++) {
        rows[rank] = decision_split(agreed, set->size, rank, set->rank);
        total += (size_t)rows[rank] * row_size;
    }
    unsigned char *at = complete_place(tensor, total, &memory);
    if (!at)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    void *data = at;
    for (int rank = 0; rank < set->size; rank++) {
        size_t before =
            (size_t)decision_splits_before(agreed, set->size, rank, set->rank) * row_size;
        size_t start = agreed->offsets[rank] + 8 * (size_t)set->size + before;
        size_t nbytes = (size_t)rows[rank] * row_size;
        if (nbytes > 0)
            memcpy(at, agreed->data + start, nbytes);
        at += nbytes;
    }
    complete_rows(tensor, rows, set->size, data, memory);
    return HVD_OK;
}

static int decision_broadcast(struct tensor *tensor, const struct agreed *agreed, struct err *err)
{
    size_t nbytes = description_bytes(&tensor->description);
    if (agreed->nbytes != nbytes)
        return fail(err, HVD_ERR_PROTOCOL, "broadcast '%s': the root gave %zu bytes, not %zu",
                    agreed->name, agreed->nbytes, nbytes);
    bool is_root = tensor->description.root == tensor->set->rank;
    complete_whole(tensor, is_root || nbytes == 0 ? tensor->output : agreed->data);
    return HVD_OK;
}

static int decision_done(struct tensor *tensor, const struct agreed *agreed, struct err *err)
{
    switch (tensor->description.kind) {
    case COLLECTIVE_ALLREDUCE:
        complete_whole(tensor, agreed->data);
        return HVD_OK;
    case COLLECTIVE_REDUCESCATTER:
        complete_share(tensor, agreed->data);
        return HVD_OK;
    case COLLECTIVE_ALLGATHER:
        return decision_gather(tensor, agreed, err);
    case COLLECTIVE_ALLTOALL:
        return decision_scatter(tensor, agreed, err);
    case COLLECTIVE_BROADCAST:
        return decision_broadcast(tensor, agreed, err);
    case COLLECTIVE_JOIN:
        tensor->result->last_rank = tensor->set->ranks[agreed->last_rank];
        complete_tensor(tensor, &fine);
        return HVD_OK;
    case COLLECTIVE_ADD_SET:
        return sets_added(tensor, agreed, err);
    case COLLECTIVE_REMOVE_SET:
        return sets_removed(tensor, err);
    default:
        complete_tensor(tensor, &fine);
        return HVD_OK;
    }
}

static void decision_failed(struct tensor *own, const struct decision *decision)
{
    struct err reason;
    fail(&reason, decision->status, "%s", decision->text);
    complete_tensor(own, &reason);
}

int decision_take(struct process_set *set, const struct decision *decision, struct err *err)
{
    if (decision->kind == DECISION_STEADY)
        return set_steady_begin(set, decision->schedule, err);
    if (decision->kind == DECISION_BATCH)
        return batch_queue(set, decision, err);
    struct tensor *own = decision->tensors->owner;
    if (!own)
        return HVD_OK;
    if (decision->kind == DECISION_DONE)
        return decision_done(own, decision->tensors, err);
    decision_failed(own, decision);
    return HVD_OK;
}

int decisions_take(struct process_set *set, struct err *err)
{
    struct decision decision;
    int rc;
    while ((rc = negotiation_next(set->negotiation, &decision, err)) > 0)
        if ((rc = decision_take(set, &decision, err)) < 0)
            return rc;
    set->decided.last_ns = monotonic_tick_ns();
    set->decided.count++;
    return rc;
}
