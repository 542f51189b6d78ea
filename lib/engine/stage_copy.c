/* SPDX-License-Identifier: Apache-2.0 */
/* Copies batches on devices to the host and back; see stage_impl.h.
 *
 *   a chunk of an allreduce or broadcast, all on one device: to a pinned buffer, reduced there, and
 *     back from it
 *   everything else: through pinned buffers to memory of the batch's own, tensor after tensor,
 *     and back
 *
 * When copying back fails, only the tensors of that copy fail. */
#include "lib/engine/engine_impl.h"

#include "lib/reduce/reduce.h"

#include <stdlib.h>
#include <string.h>

static void doom(const struct batch *batch, int i, const struct err *reason)
{
    char label[REQUEST_LABEL];
    struct err named = *reason;
    struct tensor *own = batch->tensors[i].own;
    if (!own)
        return;
    fail_context(&named, "%s", request_label(label, batch->description.kind, own->name));
    complete_doomed(own, &named);
}

/* ---- in a pinned buffer ---- */

/* The device that has all tensors of a batch that can be cut, or NULL. */
static struct device *one_device(const struct batch *batch)
{
    enum operation_kind kind = description_operation(&batch->description);
    struct device *device = NULL;
    if (kind != OPERATION_ALLREDUCE && kind != OPERATION_BROADCAST)
        return NULL;
    for (int i = 0; i < batch->count; i++) {
        const struct tensor *own = batch->tensors[i].own;
        if (own && device && own->device != device)
            return NULL;
        device = own ? own->device : device;
    }
    return device;
}

/* Without an event nothing will tell when the queued work has passed. */
static void lose_buffer(struct stage *stage)
{
    device_lose_buffer(stage->buffer, false);
    stage->buffer = NULL;
    stage->host = NULL;
}

/* Queues the tensors' copies and returns how many; `*rc` is the first failure. */
static int put_in(struct batch *batch, int *rc, struct err *err)
{
    struct stage *stage = &batch->stage;
    size_t at = 0;
    int copies = 0;
    for (int i = 0; i < batch->count && *rc == HVD_OK; at += stage_part_bytes(batch, i++)) {
        if (!batch->tensors[i].own) {
            memset(stage->host + at, 0, stage_part_bytes(batch, i));
            continue;
        }
        struct stage_piece piece = stage_piece(batch, i, at, true);
        if (piece.nbytes == 0)
            continue;
        *rc =
            device_copy_to_host(stage->buffer->device, piece.host, piece.memory, piece.nbytes, err);
        copies += *rc == HVD_OK;
    }
    return copies;
}

/* 1 if there is something to wait for, 0 if not. */
static int copy_in(struct batch *batch, struct err *err)
{
    struct err unrecorded = { .code = HVD_OK };
    struct device *device = batch->stage.buffer->device;
    int rc = HVD_OK;
    device_begin(device);
    int copies = put_in(batch, &rc, err);
    if (copies > 0)
        device_record(batch->stage.buffer, HVD_DEVICE_TO_HOST, &unrecorded);
    device_end(device);
    if (unrecorded.code < 0)
        lose_buffer(&batch->stage);
    if (rc == HVD_OK && unrecorded.code < 0)
        rc = (*err = unrecorded).code;
    return rc < 0 ? rc : copies > 0;
}

/* Like the above; a failure is that of its tensor. */
static int put_out(struct batch *batch)
{
    struct err err;
    size_t at = 0;
    int copies = 0;
    for (int i = 0; i < batch->count; at += stage_part_bytes(batch, i++)) {
        if (!batch->tensors[i].own)
            continue;
        struct stage_piece piece = stage_piece(batch, i, at, false);
        if (piece.nbytes == 0)
            continue;
        int rc = device_copy_from_host(batch->stage.buffer->device, piece.memory, piece.host,
                                       piece.nbytes, &err);
        if (rc < 0)
            doom(batch, i, &err);
        copies += rc == HVD_OK;
    }
    return copies;
}

/* True if there is nothing to wait for. */
static bool copy_out(struct batch *batch)
{
    struct err err;
    struct device *device = batch->stage.buffer->device;
    int rc = HVD_OK;
    device_begin(device);
    int copies = put_out(batch);
    if (copies > 0)
        rc = device_record(batch->stage.buffer, HVD_DEVICE_FROM_HOST, &err);
    device_end(device);
    if (rc == HVD_OK)
        return copies == 0;
    for (int i = 0; i < batch->count; i++)
        doom(batch, i, &err);
    lose_buffer(&batch->stage);
    return true;
}

/* ---- through buffers ---- */

/* Copies tensor number `at`: 1 when it is copied, 0 when not yet, or a negative status. */
static int transfer_one(struct batch *batch, size_t offset, bool in, struct err *err)
{
    struct stage *stage = &batch->stage;
    const struct batch_tensor *part = &batch->tensors[stage->at];
    if (!part->own) {
        if (in)
            memset(stage->host + offset, 0, stage_part_bytes(batch, stage->at));
        return 1;
    }
    if (!stage->transferring) {
        struct stage_piece piece = stage_piece(batch, stage->at, offset, in);
        enum hvd_device_queue queue = in ? HVD_DEVICE_TO_HOST : HVD_DEVICE_FROM_HOST;
        if (piece.nbytes == 0)
            return 1;
        int rc = transfer_begin(&stage->transfer, part->own->device, queue, piece.host,
                                piece.memory, piece.nbytes, err);
        if (rc < 0)
            return rc;
        stage->transferring = true;
    }
    int rc = transfer_move(&stage->transfer, err);
    if (rc <= 0)
        return rc;
    transfer_end(&stage->transfer);
    stage->transferring = false;
    return 1;
}

static int transfer_all(struct batch *batch, bool in, struct err *err)
{
    struct stage *stage = &batch->stage;
    size_t offset = 0;
    int rc = 1;
    for (int i = 0; i < stage->at; i++)
        offset += stage_part_bytes(batch, i);
    while (stage->at < batch->count && (rc = transfer_one(batch, offset, in, err)) > 0)
        offset += stage_part_bytes(batch, stage->at++);
    return rc;
}

/* ---- the steps ---- */

int stage_begin_in(struct batch *batch, struct err *err)
{
    struct stage *stage = &batch->stage;
    struct device *device = one_device(batch);
    int waits = 1;
    if (device) {
        stage->buffer = device_take_buffer(device, err);
        if (!stage->buffer)
            return err->code;
        stage->host = stage->buffer->memory;
        waits = copy_in(batch, err);
        if (waits < 0)
            return waits;
    } else if (!(stage->host = malloc(stage_host_bytes(batch) + 1))) {
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    }
    stage->at = 0;
    stage->step = waits ? STAGE_COMING : STAGE_HERE;
    return 1;
}

int stage_move_in(struct batch *batch, struct err *err)
{
    struct stage *stage = &batch->stage;
    size_t moved = stage->transfer.begun;
    int rc = stage->buffer ? device_passed(stage->buffer->device, stage->buffer->event,
                                           "copy to the host", err)
                           : transfer_all(batch, true, err);
    if (rc > 0)
        stage->step = STAGE_HERE;
    return rc < 0 ? rc : rc > 0 || stage->transfer.begun != moved;
}

bool stage_begin_out(struct batch *batch)
{
    const struct description *description = &batch->description;
    size_t count = batch->total;
    if (description->kind == COLLECTIVE_REDUCESCATTER)
        count = stage_share_bytes(batch) / batch_element_size(batch);
    if (description->postscale != 1)
        scale_function(description->dtype)(batch->output, batch->output, count,
                                           description->postscale);
    batch->stage.at = 0;
    return batch->stage.buffer ? copy_out(batch) : stage_move_out(batch);
}

static bool move_out(struct batch *batch)
{
    struct err err;
    const struct device_buffer *buffer = batch->stage.buffer;
    int rc = device_passed(buffer->device, buffer->event, "copy from the host", &err);
    for (int i = 0; rc < 0 && i < batch->count; i++)
        doom(batch, i, &err);
    return rc != 0;
}

/* When a tensor fails, the tensors behind it go on, once nothing of the failed one is under way. */
bool stage_move_out(struct batch *batch)
{
    struct err err;
    struct stage *stage = &batch->stage;
    if (stage->buffer)
        return move_out(batch);
    int rc = transfer_all(batch, false, &err);
    if (rc >= 0)
        return rc > 0;
    if (err.code == HVD_ERR_NOMEM && batch->set->stages.places > 1)
        return false; /* others will give theirs back */
    doom(batch, stage->at, &err);
    if (stage->transferring)
        transfer_stop(&stage->transfer);
    else
        stage->at++;
    return false;
}

bool stage_is_quiet(struct batch *batch)
{
    struct err err;
    struct stage *stage = &batch->stage;
    if (stage->transferring)
        return transfer_is_quiet(&stage->transfer);
    return !stage->buffer ||
           device_passed(stage->buffer->device, stage->buffer->event, "pass", &err) != 0;
}

void stage_free(struct batch *batch, bool quiet)
{
    struct stage *stage = &batch->stage;
    if (!stage->buffer)
        free(stage->host);
    else if (quiet)
        device_put_buffer(stage->buffer);
    else
        device_lose_buffer(stage->buffer, true);
    if (stage->transferring)
        transfer_end(&stage->transfer);
    stage->buffer = NULL;
    stage->host = NULL;
    stage->transferring = false;
}
