/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions become batches in the queue: one batch for each decision, except in device memory.
 * There, large allreduces and broadcasts, and many small ones together, are cut into chunks, and
 * each chunk is a batch. All ranks cut alike, also ranks that have joined.
 *
 * Fails with HVD_ERR_NOMEM, or HVD_ERR_PROTOCOL when the numbers of rows in the decision are
 * impossible; this breaks the world. A missing address of a rank whose link is needed breaks the
 * world, too. An allgather whose result is larger than memory can hold fails alone. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"
#include "lib/reduce/reduce.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { TENSORS_LEAST = 32 };

void batch_release(struct process_set *set, struct batch *batch)
{
    if (batch->stage.step != STAGE_NONE)
        stage_leave(set, batch);
    free(batch->memory);
    batch->memory = NULL;
    batch->operation = NULL;
    batch->next = set->batches.free;
    set->batches.free = batch;
}

static int take_rows(const struct process_set *set, struct batch *batch,
                     const struct agreed *agreed, struct err *err)
{
    for (int rank = 0; rank < set->size; rank++) {
        batch->rows[rank] = decision_rows(agreed, rank);
        if (batch->rows[rank] < 0)
            return fail(err, HVD_ERR_PROTOCOL, "allgather '%s': rank %d gives %lld rows",
                        agreed->name, set->ranks[rank], (long long)batch->rows[rank]);
    }
    return HVD_OK;
}

/* The rows that all ranks send to this one; what this rank sends must be what it has submitted. */
static int take_splits(const struct process_set *set, struct batch *batch,
                       const struct agreed *agreed, struct err *err)
{
    const struct tensor *own = agreed->owner;
    for (int rank = 0; rank < set->size; rank++) {
        batch->rows[rank] = decision_split(agreed, set->size, rank, set->rank);
        if (batch->rows[rank] < 0)
            return fail(err, HVD_ERR_PROTOCOL, "alltoall '%s': rank %d sends %lld rows",
                        agreed->name, set->ranks[rank], (long long)batch->rows[rank]);
        if (decision_split(agreed, set->size, set->rank, rank) != own->splits[rank])
            return fail(err, HVD_ERR_PROTOCOL,
                        "alltoall '%s': other rows are decided on than rank %d has submitted",
                        agreed->name, set->ranks[set->rank]);
    }
    batch->has_rows = true;
    return HVD_OK;
}

/* True if memory can hold the result of an allgather; all ranks agree on this. */
static bool result_fits(const struct process_set *set, const struct batch *batch)
{
    size_t row =
        shape_row_count(&batch->description.shape) * dtype_size((int)batch->description.dtype);
    int64_t rows = 0;
    size_t nbytes;
    if (batch->description.kind != COLLECTIVE_ALLGATHER)
        return true;
    for (int rank = 0; rank < set->size; rank++) {
        if (batch->rows[rank] > ROWS_MAX)
            return false;
        rows += batch->rows[rank];
    }
    return !__builtin_mul_overflow((size_t)rows, row, &nbytes) && nbytes <= PTRDIFF_MAX;
}

static void batch_add_part(struct batch *batch, struct tensor *own, size_t offset, size_t count)
{
    batch->tensors[batch->count++] = (struct batch_tensor){ own, offset, count };
    batch->total += count;
    if (!own)
        return;
    own->decided = true;
    own->parts += batch->description.memory != MEMORY_HOST;
}

static size_t count_of(const struct agreed *agreed)
{
    const struct tensor *own = agreed->owner;
    return shape_count(own ? &own->description.shape : &agreed->description.shape);
}

/* A batch without tensors; there will be at most `count`. */
static struct batch *batch_create(struct process_set *set, const struct decision *decision,
                                  const struct agreed *agreed, int count, struct err *err)
{
    const struct tensor *own = agreed->owner;
    struct batch *batch = set->batches.free;
    if (batch)
        set->batches.free = batch->next;
    else if (!(batch = calloc(1, sizeof *batch)))
        goto out_of_memory;
    if (!batch->rows && !(batch->rows = calloc((size_t)set->size, sizeof *batch->rows)))
        goto out_of_memory;
    if (count > batch->capacity) {
        /* Doubles the capacity, so that a reused batch soon has room for any fused tensors. */
        int capacity = batch->capacity ? batch->capacity : TENSORS_LEAST;
        while (capacity < count)
            capacity *= 2;
        struct batch_tensor *tensors =
            reallocarray(batch->tensors, (size_t)capacity, sizeof *tensors);
        if (!tensors)
            goto out_of_memory;
        batch->tensors = tensors;
        batch->capacity = capacity;
    }
    batch->next = NULL;
    batch->set = set;
    batch->description = own ? own->description : agreed->description;
    batch->choice = decision->choice;
    if (agreed->absent)
        batch->description.memory = MEMORY_DEVICE;
    batch->has_rows = false;
    batch->count = 0;
    batch->total = 0;
    return batch;
out_of_memory:
    if (batch) {
        batch->next = set->batches.free;
        set->batches.free = batch;
    }
    fail(err, HVD_ERR_NOMEM, "out of memory");
    return NULL;
}

/* All ranks want the links that a batch needs when it is decided on, so that no rank waits for a
 * rank that is not as far in the queue. */
static int batch_want_links(struct process_set *set, const struct batch *batch, struct err *err)
{
    unsigned bit = 1u << batch->choice.algorithm;
    if (set->size < 2 || algorithm_is_near(batch->choice.algorithm) || set->batches.wanted & bit)
        return HVD_OK;
    if (!set->engine->exchange.directory)
        return fail(err, HVD_ERR_PROTOCOL, "nothing tells where the ranks of process set %d are",
                    set->id);
    if (!address_exchange_place(set))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (algorithm_has_fixed_peers(batch->choice.algorithm))
        set->batches.wanted |= bit;
    return set_want_data(set, set->batches.others, batch_find_others(set, batch), err);
}

static int batch_enqueue(struct process_set *set, struct batch *batch, struct err *err)
{
    if (set->engine->timeline)
        trace_queued(batch);
    if (batch->description.memory != MEMORY_HOST && stage_queue(set, batch))
        return HVD_OK;
    *set->batches.queue_end = batch;
    set->batches.queue_end = &batch->next;
    set->batches.queued++;
    return batch_want_links(set, batch, err);
}

/* Puts the tensors one behind the other and cuts them without regard to their ends. */
static int queue_chunks(struct process_set *set, const struct decision *decision, struct err *err)
{
    struct batch *batch = NULL;
    size_t most = DEVICE_CHUNK / dtype_size((int)decision->tensors->description.dtype);
    for (int i = 0; i < decision->count; i++) {
        const struct agreed *agreed = &decision->tensors[i];
        size_t count = count_of(agreed), offset = 0;
        do {
            if (!batch && !(batch = batch_create(set, decision, agreed, decision->count - i, err)))
                return err->code;
            size_t room = most - batch->total, left = count - offset;
            batch_add_part(batch, agreed->owner, offset, left < room ? left : room);
            offset += left < room ? left : room;
            if (batch->total == most) {
                if (batch_enqueue(set, batch, err) < 0)
                    return err->code;
                batch = NULL;
            }
        } while (offset < count);
    }
    return batch ? batch_enqueue(set, batch, err) : HVD_OK;
}

/* True if the devices do not carry out the batch, and any part of it can be done alone. */
static bool is_cut(const struct agreed *agreed)
{
    const struct description *description = &agreed->description;
    if (description->memory == MEMORY_HOST ||
        (description->memory == MEMORY_DEVICE_REDUCES && !agreed->absent))
        return false;
    return description->kind == COLLECTIVE_BROADCAST ||
           (description->kind == COLLECTIVE_ALLREDUCE && description->op != HVD_ADASUM);
}

int batch_queue(struct process_set *set, const struct decision *decision, struct err *err)
{
    struct err reason;
    char label[REQUEST_LABEL];
    if (is_cut(decision->tensors))
        return queue_chunks(set, decision, err);
    struct batch *batch = batch_create(set, decision, decision->tensors, decision->count, err);
    if (!batch)
        return err->code;
    int rc = HVD_OK;
    if (batch->description.kind == COLLECTIVE_ALLGATHER)
        rc = take_rows(set, batch, decision->tensors, err);
    else if (batch->description.kind == COLLECTIVE_ALLTOALL && set->size <= LISTED_ROWS_RANKS)
        rc = take_splits(set, batch, decision->tensors, err);
    if (rc == HVD_OK && result_fits(set, batch)) {
        for (int i = 0; i < decision->count; i++)
            batch_add_part(batch, decision->tensors[i].owner, 0, count_of(&decision->tensors[i]));
        return batch_enqueue(set, batch, err);
    }
    if (rc == HVD_OK) {
        fail(&reason, HVD_ERR_INVALID, "%s: the rows of all ranks do not fit into memory",
             request_label(label, COLLECTIVE_ALLGATHER, decision->tensors->name));
        complete_tensor(decision->tensors->owner, &reason);
    }
    batch_release(set, batch);
    return rc;
}
