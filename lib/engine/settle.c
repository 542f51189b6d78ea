/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of tensors that have been decided on: done with the data that came along, failed, or
 * handed on to be moved (run.c). A result that does not fit into the caller's memory is that
 * tensor's failure on this rank alone. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"
#include "lib/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

static const struct err fine = { .code = HVD_OK };

/* The ticket keeps its first failure. Who has left does not know what it was wanted for. */
static void note_failure(struct tensor *tensor, const struct err *err)
{
    struct err *first = &tensor->ticket->err;
    char label[REQUEST_LABEL];
    if (first->code != HVD_OK || err->code == HVD_OK)
        return;
    *first = *err;
    if (err->code != HVD_ERR_PEER_LEFT)
        return;
    fail_context(first, "%s", request_label(label, tensor->description.kind, tensor->name));
    failure_strand(tensor->set->engine->failure, first);
}

void settle_tensor(struct tensor *tensor, const struct err *err)
{
    struct engine *engine = tensor->set->engine;
    struct ticket *ticket = tensor->ticket;
    if (tensor->device)
        device_release(tensor->device);
    tensor->set->in_flight--;
    if (engine->timeline)
        trace_done(tensor, err->code != HVD_OK);
    bool well = err->code == HVD_OK;
    if (well)
        engine_note_done(engine, tensor);
    else
        note_failure(tensor, err);
    if (!flight_done(&engine->flight, tensor, well))
        return;
    engine->progress.finished |= ticket->awaited;
    if (engine->progress.waiters > 0)
        pthread_cond_broadcast(&engine->progress.changed);
}

void settle_doom(struct tensor *tensor, const struct err *err)
{
    tensor->failed = true;
    note_failure(tensor, err);
}

/* ---- results ---- */

static void copy_scaled(struct tensor *tensor, const void *data, size_t count)
{
    const struct description *description = &tensor->description;
    if (count == 0)
        return;
    if (description->postscale != 1)
        scale_function(description->dtype)(tensor->output, data, count, description->postscale);
    else if (tensor->output != data)
        memcpy(tensor->output, data, count * dtype_size((int)description->dtype));
}

static size_t row_size(const struct tensor *tensor)
{
    return shape_row_count(&tensor->description.shape) * dtype_size((int)tensor->description.dtype);
}

static void fill_result(struct tensor *tensor, void *data, int64_t dim0)
{
    const struct shape *shape = &tensor->description.shape;
    tensor->result->data = data;
    tensor->result->dim0 = dim0;
    tensor->result->size = shape->ndims > 0 ? (size_t)dim0 * row_size(tensor)
                                            : description_bytes(&tensor->description);
}

static int64_t rows_of_share(const struct tensor *tensor)
{
    return hvd_share(tensor->description.shape.dims[0], tensor->set->size, tensor->set->rank);
}

/* The result is at the output. */
static void settle_made(struct tensor *tensor)
{
    const struct shape *shape = &tensor->description.shape;
    int64_t dim0 = shape->ndims > 0 ? shape->dims[0] : 1;
    if (tensor->description.kind == COLLECTIVE_REDUCESCATTER)
        dim0 = rows_of_share(tensor);
    fill_result(tensor, tensor->output, dim0);
    settle_tensor(tensor, &fine);
}

void settle_whole(struct tensor *tensor, const void *data)
{
    copy_scaled(tensor, data, shape_count(&tensor->description.shape));
    settle_made(tensor);
}

void settle_share(struct tensor *tensor, const void *whole)
{
    const struct shape *shape = &tensor->description.shape;
    size_t row_count = shape_row_count(shape);
    const unsigned char *data = whole;
    for (int rank = 0; data && rank < tensor->set->rank; rank++)
        data += (size_t)hvd_share(shape->dims[0], tensor->set->size, rank) * row_size(tensor);
    copy_scaled(tensor, data ? data : tensor->output, (size_t)rows_of_share(tensor) * row_count);
    settle_made(tensor);
}

void *settle_place(struct tensor *tensor, size_t nbytes, void **memory)
{
    *memory = NULL;
    if (tensor->output && nbytes <= tensor->output_size && !tensor->device)
        return tensor->output;
    return *memory = malloc(nbytes > 0 ? nbytes : 1);
}

static int64_t sum(const int64_t *rows, int nrows)
{
    int64_t total = 0;
    for (int i = 0; i < nrows; i++)
        total += rows[i];
    return total;
}

static int keep_rows(struct tensor *tensor, const int64_t *rows, int nrows, struct err *err)
{
    struct hvd_result *result = tensor->result;
    if (tensor->without_rows)
        return HVD_OK;
    result->rows = malloc((size_t)nrows * sizeof *rows);
    if (!result->rows)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    memcpy(result->rows, rows, (size_t)nrows * sizeof *rows);
    result->nrows = nrows;
    return HVD_OK;
}

/* A caller that gave memory, but not enough. */
static int check_room(const struct tensor *tensor, struct err *err)
{
    char label[REQUEST_LABEL];
    if (!tensor->output || tensor->result->size <= tensor->output_size)
        return HVD_OK;
    return fail(err, HVD_ERR_INVALID, "%s: the result has %zu bytes, output has room for %zu",
                request_label(label, tensor->description.kind, tensor->name), tensor->result->size,
                tensor->output_size);
}

void settle_rows(struct tensor *tensor, const int64_t *rows, int nrows, void *data, void *memory)
{
    struct err err = fine;
    fill_result(tensor, data, sum(rows, nrows));
    int rc = check_room(tensor, &err);
    if (rc == HVD_OK && memory && tensor->output) { /* made elsewhere, though there is room */
        if (tensor->result->size > 0)
            memcpy(tensor->output, memory, tensor->result->size);
        tensor->result->data = tensor->output;
        free(memory);
        memory = NULL;
    }
    if (rc == HVD_OK)
        rc = keep_rows(tensor, rows, nrows, &err);
    if (rc < 0) {
        free(memory);
        *tensor->result = (struct hvd_result){ .last_rank = -1 };
    } else {
        tensor->result->memory = memory;
    }
    settle_tensor(tensor, &err);
}

void settle_part(struct tensor *tensor, const struct run *run)
{
    if (--tensor->parts > 0)
        return;
    trace_unstaged(tensor);
    if (tensor->failed)
        settle_tensor(tensor, &tensor->ticket->err);
    else if (collective_has_own_rows(tensor->description.kind))
        settle_rows(tensor, run->rows, tensor->set->size, tensor->output, NULL);
    else
        settle_made(tensor);
}

/* ---- decisions: done ---- */

int64_t settle_read_rows(const struct agreed *agreed, int rank)
{
    struct wire_reader reader;
    size_t start = agreed->offsets[rank], end = agreed->offsets[rank + 1];
    if (end == start)
        return 0;
    wire_reader_init(&reader, agreed->data + start, end - start);
    return (int64_t)wire_get_u64(&reader);
}

/* Has `rank` given as many rows as it says? Rows of nothing are not counted. */
static bool is_consistent(const struct agreed *agreed, int rank, size_t row_size)
{
    size_t start = agreed->offsets[rank], end = agreed->offsets[rank + 1];
    int64_t rows = settle_read_rows(agreed, rank);
    if (end - start < 8 || rows < 0 || rows > ROWS_MAX)
        return false;
    size_t nbytes = end - start - 8;
    return row_size == 0 ? nbytes == 0
                         : nbytes % row_size == 0 && nbytes / row_size == (size_t)rows;
}

static int check_rows(struct process_set *set, const struct tensor *tensor,
                      const struct agreed *agreed, struct err *err)
{
    for (int rank = 0; rank < set->size; rank++)
        if (!is_consistent(agreed, rank, row_size(tensor)))
            return fail(err, HVD_ERR_PROTOCOL,
                        "allgather '%s': rank %d gave other rows than it says", agreed->name,
                        set->ranks[rank]);
    return HVD_OK;
}

/* Behind each rank's number of rows lie the rows. */
static int gather(struct tensor *tensor, const struct agreed *agreed, struct err *err)
{
    struct process_set *set = tensor->set;
    void *memory;
    if (check_rows(set, tensor, agreed, err) < 0)
        return err->code;
    unsigned char *at = settle_place(tensor, agreed->nbytes - 8 * (size_t)set->size, &memory);
    if (!at)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    void *data = at;
    for (int rank = 0; rank < set->size; rank++) {
        size_t nbytes = agreed->offsets[rank + 1] - agreed->offsets[rank] - 8;
        set->decided.rows[rank] = settle_read_rows(agreed, rank);
        if (nbytes > 0)
            memcpy(at, agreed->data + agreed->offsets[rank] + 8, nbytes);
        at += nbytes;
    }
    settle_rows(tensor, set->decided.rows, set->size, data, memory);
    return HVD_OK;
}

static int broadcast(struct tensor *tensor, const struct agreed *agreed, struct err *err)
{
    size_t nbytes = description_bytes(&tensor->description);
    if (agreed->nbytes != nbytes)
        return fail(err, HVD_ERR_PROTOCOL, "broadcast '%s': the root gave %zu bytes, not %zu",
                    agreed->name, agreed->nbytes, nbytes);
    bool is_root = tensor->description.root == tensor->set->rank;
    settle_whole(tensor, is_root || nbytes == 0 ? tensor->output : agreed->data);
    return HVD_OK;
}

static void joined(struct tensor *tensor, const struct agreed *agreed)
{
    tensor->result->last_rank = tensor->set->ranks[agreed->last_rank];
    settle_tensor(tensor, &fine);
}

static int done(struct tensor *tensor, const struct agreed *agreed, struct err *err)
{
    switch (tensor->description.kind) {
    case COLLECTIVE_ALLREDUCE:
        settle_whole(tensor, agreed->data);
        return HVD_OK;
    case COLLECTIVE_REDUCESCATTER:
        settle_share(tensor, agreed->data);
        return HVD_OK;
    case COLLECTIVE_ALLGATHER:
        return gather(tensor, agreed, err);
    case COLLECTIVE_BROADCAST:
        return broadcast(tensor, agreed, err);
    case COLLECTIVE_JOIN:
        joined(tensor, agreed);
        return HVD_OK;
    case COLLECTIVE_ADD_SET:
        return sets_added(tensor, agreed, err);
    case COLLECTIVE_REMOVE_SET:
        return sets_removed(tensor, err);
    default:
        settle_tensor(tensor, &fine);
        return HVD_OK;
    }
}

static int settle(struct process_set *set, const struct decision *decision, struct err *err)
{
    struct err reason;
    switch (decision->kind) {
    case DECISION_RUN:
        return run_queue(set, decision, err);
    case DECISION_DONE:
        return decision->tensors->owner ? done(decision->tensors->owner, decision->tensors, err)
                                        : HVD_OK;
    default:
        fail(&reason, decision->status, "%s", decision->text);
        if (decision->tensors->owner)
            settle_tensor(decision->tensors->owner, &reason);
        return HVD_OK;
    }
}

int set_settle(struct process_set *set, struct err *err)
{
    struct decision decision;
    int rc;
    while ((rc = negotiation_next(set->negotiation, &decision, err)) > 0)
        if ((rc = settle(set, &decision, err)) < 0)
            return rc;
    set->decided.last_ns = monotonic_tick_ns();
    set->decided.count++;
    return rc;
}
