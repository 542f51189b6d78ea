/* SPDX-License-Identifier: Apache-2.0 */
/* Batches that the devices reduce, or move, among themselves; see stage_impl.h. The engine calls
 * the vendor for each batch in the order of the decisions, which is the same on all ranks. A batch
 * is done when the event behind it has passed.
 *
 * A failure breaks the world: the other ranks' devices may wait for ours. A batch that fails
 * in a set that a rank has left fails alone, and because of that rank. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"

static int stage_reduce_allreduce(const struct process_set *set, const struct batch *batch,
                                  struct err *err)
{
    const struct tensor *own = batch->tensors[0].own;
    const struct description *description = &own->description;
    const struct hvd_device_allreduce allreduce = {
        .input = own->input,
        .output = own->output,
        .count = batch->total,
        .dtype = description->dtype,
        .op = description->op,
        .prescale = description->prescale,
        .postscale = description->postscale,
        .process_set = set->id,
        .rank = set->rank,
        .size = set->size,
    };
    return device_reduce(own->device, &allreduce, err);
}

/* Allgather, alltoall: the decision has brought the rows of each rank. */
static const int64_t *stage_reduce_rows(const struct process_set *set, struct batch *batch)
{
    const struct description *description = &batch->description;
    if (description->kind == COLLECTIVE_BROADCAST)
        return NULL;
    if (description->kind == COLLECTIVE_REDUCESCATTER)
        for (int rank = 0; rank < set->size; rank++)
            batch->rows[rank] = hvd_share(description->shape.dims[0], set->size, rank);
    return batch->rows;
}

static int stage_reduce_collective(const struct process_set *set, struct batch *batch,
                                   struct err *err)
{
    const struct tensor *own = batch->tensors[0].own;
    const struct description *description = &own->description;
    bool in_place = description->kind == COLLECTIVE_BROADCAST;
    const struct hvd_device_collective collective = {
        .kind = device_collective_kind(description->kind),
        .dtype = description->dtype,
        .input = in_place ? own->output : own->input,
        .output = own->output,
        .count = batch->total,
        .root = description->root,
        .op = description->op,
        .prescale = description->prescale,
        .postscale = description->postscale,
        .rows = stage_reduce_rows(set, batch),
        .row_count = shape_row_count(&description->shape),
        .output_size = own->output_size,
        .splits = description->kind == COLLECTIVE_ALLTOALL ? own->splits : NULL,
        .process_set = set->id,
        .rank = set->rank,
        .size = set->size,
    };
    return device_collective(own->device, &collective, device_collective_verb(description->kind),
                             err);
}

static int stage_reduce_begin(struct process_set *set, struct batch *batch, struct err *err)
{
    const struct tensor *own = batch->tensors[0].own;
    batch->stage.buffer = device_take_event(own->device, err);
    if (!batch->stage.buffer)
        return err->code;
    trace_stage(batch, PHASE_MOVING);
    device_begin(own->device);
    int rc = batch->description.kind == COLLECTIVE_ALLREDUCE
                 ? stage_reduce_allreduce(set, batch, err)
                 : stage_reduce_collective(set, batch, err);
    if (rc == HVD_OK)
        rc = device_record(batch->stage.buffer, HVD_DEVICE_REDUCE, err);
    device_end(own->device);
    if (rc < 0)
        return rc;
    batch->stage.step = STAGE_REDUCING;
    return 1;
}

static int begin_all(struct process_set *set, struct err *err)
{
    int moved = 0;
    for (struct batch *batch = set->stages.reducing.first; batch; batch = batch->next) {
        if (batch->stage.step == STAGE_REDUCING)
            continue;
        if (stage_reduce_begin(set, batch, err) < 0)
            return stage_context(batch, err);
        moved = 1;
    }
    return moved;
}

/* Batches are done in order. */
static int finish_all(struct process_set *set, struct err *err)
{
    int moved = 0;
    struct batch *batch;
    while ((batch = set->stages.reducing.first) && batch->stage.step == STAGE_REDUCING) {
        struct tensor *own = batch->tensors[0].own;
        const char *verb = device_collective_verb(batch->description.kind);
        int rc = device_passed(own->device, batch->stage.buffer->event, verb, err);
        if (rc < 0 && set->ended.code == HVD_OK)
            return stage_context(batch, err);
        if (rc == 0)
            break;
        batch_list_take(&set->stages.reducing);
        moved = 1;
        if (rc < 0) {
            stage_fail(set, batch, &set->ended);
            continue;
        }
        stage_free(batch, true);
        complete_part(own, batch);
        batch_release(set, batch);
    }
    return moved;
}

int stage_reduce(struct process_set *set, struct err *err)
{
    int began = begin_all(set, err);
    int finished = began < 0 ? began : finish_all(set, err);
    return finished < 0 ? finished : began | finished;
}
