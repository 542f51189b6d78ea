/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces of a batch on devices: the bytes of each tensor that are copied to the host and back,
 * and their place in the memory of the operation; see stage_impl.h.
 *
 * A broadcast copies to the host on the root, and back on the other ranks. Gathers and scatters
 * copy back more or fewer bytes than they copied to the host. Where this rank has joined, zeros
 * take the place of the tensor. */
#include "lib/engine/engine_impl.h"

#include "lib/reduce/reduce.h"

#include <stdlib.h>

static size_t row_size(const struct batch *batch)
{
    return shape_row_count(&batch->description.shape) * batch_element_size(batch);
}

static size_t rows_before(const struct batch *batch, int rank)
{
    size_t rows = 0;
    for (int i = 0; i < rank; i++)
        rows += (size_t)batch->rows[i];
    return rows;
}

/* The bytes of all ranks; 0 if the caller has no room for them. */
static size_t gathered_bytes(const struct batch *batch)
{
    size_t nbytes = rows_before(batch, batch->set->size) * row_size(batch);
    return nbytes <= batch->tensors[0].own->output_size ? nbytes : 0;
}

static size_t sent_bytes(const struct batch *batch)
{
    int64_t rows = 0;
    for (int i = 0; i < batch->set->size; i++)
        rows += batch->tensors[0].own->splits[i];
    return (size_t)rows * row_size(batch);
}

size_t stage_share_bytes(const struct batch *batch)
{
    const struct process_set *set = batch->set;
    return (size_t)hvd_share(batch->description.shape.dims[0], set->size, set->rank) *
           row_size(batch);
}

struct stage_piece stage_piece(const struct batch *batch, int i, size_t at, bool in)
{
    const struct batch_tensor *part = &batch->tensors[i];
    const struct tensor *own = part->own;
    size_t size = batch_element_size(batch);
    bool is_root = batch->description.root == batch->set->rank;
    const void *input = batch->description.kind == COLLECTIVE_BROADCAST ? own->output : own->input;
    struct stage_piece piece = {
        .host = (in ? batch->stage.host : (unsigned char *)batch->output) + at,
        .memory = (unsigned char *)(in ? input : own->output) + part->offset * size,
        .nbytes = part->count * size,
    };
    switch (batch->description.kind) {
    case COLLECTIVE_BROADCAST:
        piece.nbytes = is_root == in ? piece.nbytes : 0;
        break;
    case COLLECTIVE_ALLGATHER:
        piece.host += in ? rows_before(batch, batch->set->rank) * row_size(batch) : 0;
        piece.nbytes = in ? piece.nbytes : gathered_bytes(batch);
        break;
    case COLLECTIVE_ALLTOALL:
        piece.nbytes = in ? sent_bytes(batch) : gathered_bytes(batch);
        break;
    case COLLECTIVE_REDUCESCATTER:
        piece.nbytes = in ? piece.nbytes : stage_share_bytes(batch);
        break;
    default:
        break;
    }
    return piece;
}

size_t stage_part_bytes(const struct batch *batch, int i)
{
    return batch->tensors[i].count * batch_element_size(batch);
}

size_t stage_host_bytes(const struct batch *batch)
{
    if (batch->description.kind == COLLECTIVE_ALLGATHER)
        return rows_before(batch, batch->set->size) * row_size(batch);
    return batch->total * batch_element_size(batch);
}

/* The memory that the operation works in; a rank that has joined has had nothing to copy. */
static bool has_host(struct batch *batch)
{
    struct stage *stage = &batch->stage;
    if (!stage->host)
        stage->host = calloc(batch->total + 1, batch_element_size(batch));
    return stage->host;
}

bool stage_prepare(const struct process_set *set, struct batch *batch, struct operation_task *task)
{
    const struct description *description = &batch->description;
    if (!has_host(batch))
        return false;
    if (description->prescale != 1)
        scale_function(description->dtype)(batch->stage.host, batch->stage.host, batch->total,
                                           description->prescale);
    task->input = task->output = batch->stage.host;
    task->count = batch->total;
    switch (task->kind) {
    case OPERATION_REDUCESCATTER:
        task->rows = description->shape.dims[0];
        return true;
    case OPERATION_ALLGATHER:
        task->input = batch->stage.host + rows_before(batch, set->rank) * row_size(batch);
        task->splits = batch->rows;
        return true;
    case OPERATION_ALLTOALL:
        task->output = NULL;
        task->splits = batch->tensors[0].own->splits;
        task->received = batch->has_rows ? batch->rows : NULL;
        task->place = batch_place_rows;
        task->place_arg = batch;
        return true;
    default:
        return true;
    }
}
