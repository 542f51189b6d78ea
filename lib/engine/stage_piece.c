/* SPDX-License-Identifier: Apache-2.0 */
/* What of a run on devices is where: bytes of each tensor that are copied to the host and back, and
 * where the operation finds them; see stage_impl.h.
 *
 * A broadcast copies to the host on the root, and back on the others; of what is gathered or shared
 * out, more or less comes back than went. Where this rank has joined, zeros take the place of the
 * tensor. */
#include "lib/engine/engine_impl.h"

#include "lib/reduce/reduce.h"

#include <stdlib.h>

static size_t row_size(const struct run *run)
{
    return shape_row_count(&run->description.shape) * run_element_size(run);
}

static size_t rows_before(const struct run *run, int rank)
{
    size_t rows = 0;
    for (int i = 0; i < rank; i++)
        rows += (size_t)run->rows[i];
    return rows;
}

/* Of all ranks; 0 if the caller has no room for them. */
static size_t gathered_bytes(const struct run *run)
{
    size_t nbytes = rows_before(run, run->set->size) * row_size(run);
    return nbytes <= run->tensors[0].own->output_size ? nbytes : 0;
}

static size_t sent_bytes(const struct run *run)
{
    int64_t rows = 0;
    for (int i = 0; i < run->set->size; i++)
        rows += run->tensors[0].own->splits[i];
    return (size_t)rows * row_size(run);
}

size_t stage_share_bytes(const struct run *run)
{
    const struct process_set *set = run->set;
    return (size_t)hvd_share(run->description.shape.dims[0], set->size, set->rank) * row_size(run);
}

struct stage_piece stage_piece(const struct run *run, int i, size_t at, bool in)
{
    const struct run_tensor *part = &run->tensors[i];
    const struct tensor *own = part->own;
    size_t size = run_element_size(run);
    bool is_root = run->description.root == run->set->rank;
    const void *input = run->description.kind == COLLECTIVE_BROADCAST ? own->output : own->input;
    struct stage_piece piece = {
        .host = (in ? run->stage.host : (unsigned char *)run->output) + at,
        .memory = (unsigned char *)(in ? input : own->output) + part->offset * size,
        .nbytes = part->count * size,
    };
    switch (run->description.kind) {
    case COLLECTIVE_BROADCAST:
        piece.nbytes = is_root == in ? piece.nbytes : 0;
        break;
    case COLLECTIVE_ALLGATHER:
        piece.host += in ? rows_before(run, run->set->rank) * row_size(run) : 0;
        piece.nbytes = in ? piece.nbytes : gathered_bytes(run);
        break;
    case COLLECTIVE_ALLTOALL:
        piece.nbytes = in ? sent_bytes(run) : gathered_bytes(run);
        break;
    case COLLECTIVE_REDUCESCATTER:
        piece.nbytes = in ? piece.nbytes : stage_share_bytes(run);
        break;
    default:
        break;
    }
    return piece;
}

size_t stage_part_bytes(const struct run *run, int i)
{
    return run->tensors[i].count * run_element_size(run);
}

size_t stage_host_bytes(const struct run *run)
{
    if (run->description.kind == COLLECTIVE_ALLGATHER)
        return rows_before(run, run->set->size) * row_size(run);
    return run->total * run_element_size(run);
}

/* Where the operation works; a rank that has joined has had nothing to copy. */
static bool has_host(struct run *run)
{
    struct stage *stage = &run->stage;
    if (!stage->host)
        stage->host = calloc(run->total + 1, run_element_size(run));
    return stage->host;
}

bool stage_prepare(const struct process_set *set, struct run *run, struct operation_task *task)
{
    const struct description *description = &run->description;
    if (!has_host(run))
        return false;
    if (description->prescale != 1)
        scale_function(description->dtype)(run->stage.host, run->stage.host, run->total,
                                           description->prescale);
    task->input = task->output = run->stage.host;
    task->count = run->total;
    switch (task->kind) {
    case OPERATION_REDUCESCATTER:
        task->rows = description->shape.dims[0];
        return true;
    case OPERATION_ALLGATHER:
        task->input = run->stage.host + rows_before(run, set->rank) * row_size(run);
        task->splits = run->rows;
        return true;
    case OPERATION_ALLTOALL:
        task->output = NULL;
        task->splits = run->tensors[0].own->splits;
        task->place = run_place_rows;
        task->place_arg = run;
        return true;
    default:
        return true;
    }
}
