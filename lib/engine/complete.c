/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a tensor: write its result to the caller's memory, count it, and wake the waiting
 * threads when it is the last tensor of its handle. The data came with the decision (decisions.c),
 * or was moved (batch.c, stage.c).
 *
 * A tensor fails with its set, with the world, or alone. A result that does not fit into the
 * caller's memory fails only this tensor, on this rank. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"
#include "lib/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

static const struct err fine = { .code = HVD_OK };

/* The ticket keeps its first failure. The end of a rank that left does not name the collective, so
 * the name is put in front here. */
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
    set_strand(tensor->set, tensor->description.kind, tensor->name);
}

void complete_tensor(struct tensor *tensor, const struct err *err)
{
    struct engine *engine = tensor->set->engine;
    struct ticket *ticket = tensor->ticket;
    if (tensor->device)
        device_release(tensor->device);
    tensor->set->in_flight--;
    if (engine->timeline)
        trace_done(tensor, err->code != HVD_OK);
    bool well = err->code == HVD_OK;
    if (well) {
        uint64_t now_ns = engine->tune ? monotonic_ns() : monotonic_tick_ns();
        engine->in_flight.last_done_ns = now_ns;
        counters_done(&engine->counters, tensor, now_ns);
        if (engine->tune)
            tune_tensor_done(tensor, now_ns);
    } else {
        note_failure(tensor, err);
    }
    if (in_flight_done(&engine->in_flight, tensor, well))
        progress_note_done(&engine->progress, ticket->awaited);
}

void complete_doomed(struct tensor *tensor, const struct err *err)
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

size_t tensor_row_size(const struct tensor *tensor)
{
    return shape_row_count(&tensor->description.shape) * dtype_size((int)tensor->description.dtype);
}

static void fill_result(struct tensor *tensor, void *data, int64_t dim0)
{
    const struct shape *shape = &tensor->description.shape;
    tensor->result->data = data;
    tensor->result->dim0 = dim0;
    tensor->result->size = shape->ndims > 0 ? (size_t)dim0 * tensor_row_size(tensor)
                                            : description_bytes(&tensor->description);
}

static int64_t rows_of_share(const struct tensor *tensor)
{
    return hvd_share(tensor->description.shape.dims[0], tensor->set->size, tensor->set->rank);
}

/* The result is already at the output. */
static void complete_made(struct tensor *tensor)
{
    const struct shape *shape = &tensor->description.shape;
    int64_t dim0 = shape->ndims > 0 ? shape->dims[0] : 1;
    if (tensor->description.kind == COLLECTIVE_REDUCESCATTER)
        dim0 = rows_of_share(tensor);
    fill_result(tensor, tensor->output, dim0);
    complete_tensor(tensor, &fine);
}

void complete_whole(struct tensor *tensor, const void *data)
{
    copy_scaled(tensor, data, shape_count(&tensor->description.shape));
    complete_made(tensor);
}

size_t complete_share_begin(const struct tensor *tensor)
{
    int64_t rows = 0;
    for (int rank = 0; rank < tensor->set->rank; rank++)
        rows += hvd_share(tensor->description.shape.dims[0], tensor->set->size, rank);
    return (size_t)rows * tensor_row_size(tensor);
}

void complete_share(struct tensor *tensor, const void *whole)
{
    size_t row_count = shape_row_count(&tensor->description.shape);
    const unsigned char *data =
        whole ? (const unsigned char *)whole + complete_share_begin(tensor) : NULL;
    copy_scaled(tensor, data ? data : tensor->output, (size_t)rows_of_share(tensor) * row_count);
    complete_made(tensor);
}

void *complete_place(struct tensor *tensor, size_t nbytes, void **memory)
{
    *memory = NULL;
    if (tensor->output && nbytes <= tensor->output_size && !tensor->device)
        return tensor->output;
    return *memory = malloc(nbytes > 0 ? nbytes : 1);
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

/* The caller has provided memory, but not enough. */
static int check_room(const struct tensor *tensor, struct err *err)
{
    char label[REQUEST_LABEL];
    if (!tensor->output || tensor->result->size <= tensor->output_size)
        return HVD_OK;
    return fail(err, HVD_ERR_INVALID, "%s: the result has %zu bytes, output has room for %zu",
                request_label(label, tensor->description.kind, tensor->name), tensor->result->size,
                tensor->output_size);
}

void complete_rows(struct tensor *tensor, const int64_t *rows, int nrows, void *data, void *memory)
{
    struct err err = fine;
    int64_t total = 0;
    for (int i = 0; i < nrows; i++)
        total += rows[i];
    fill_result(tensor, data, total);
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
    complete_tensor(tensor, &err);
}

void complete_part(struct tensor *tensor, const struct batch *batch)
{
    if (--tensor->parts > 0)
        return;
    trace_unstaged(tensor);
    if (tensor->failed)
        complete_tensor(tensor, &tensor->ticket->err);
    else if (collective_has_own_rows(tensor->description.kind))
        complete_rows(tensor, batch->rows, tensor->set->size, tensor->output, NULL);
    else
        complete_made(tensor);
}
