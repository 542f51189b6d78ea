/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a batch works in: the caller's memory where possible, the window's buffer for
 * fused tensors, zeros for a rank that has joined, new memory for results whose size nobody knew
 * before.
 *
 * The window's buffer is memory that other ranks read in place. It belongs to its place in the
 * window: a new operation begins there only when all ranks have read what the last one offered, and
 * when an operation is broken off, or the set ends, the links are closed before the buffer is used
 * again or freed (batches_fail(), set_destroy()).
 * Fails, returning false, when memory is short. */
#include "lib/engine/engine_impl.h"

#include "lib/memory/shared_heap.h"
#include "lib/reduce/reduce.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t batch_element_size(const struct batch *batch)
{
    return dtype_size((int)batch->description.dtype);
}

/* Allocates room for the largest fused batch at once: pages that are never touched cost nothing.
 * Other ranks of this host read the buffer in place. */
static bool grow_buffer(struct set_memory *memory, size_t nbytes, size_t most)
{
    if (nbytes <= memory->buffer_size)
        return true;
    size_t size = nbytes > most ? nbytes : most;
    shared_heap_free(memory->buffer);
    memory->buffer = shared_heap_alloc(size);
    memory->buffer_size = memory->buffer ? size : 0;
    return memory->buffer;
}

/* Copies every tensor behind the previous one, and applies the factor on the way. */
static bool pack(struct batch *batch, struct set_memory *memory)
{
    size_t size = batch_element_size(batch), most = batch->set->engine->settings.fusion_threshold;
    if (!grow_buffer(memory, batch->total * size,
                     most < FUSION_BUFFER_MAX ? most : FUSION_BUFFER_MAX))
        return false;
    unsigned char *at = memory->buffer;
    for (int i = 0; i < batch->count; i++) {
        const struct tensor *own = batch->tensors[i].own;
        size_t count = batch->tensors[i].count;
        if (!own)
            memset(at, 0, count * size);
        else if (batch->description.prescale != 1)
            scale_function(batch->description.dtype)(at, own->input, count,
                                                     batch->description.prescale);
        else if (count > 0)
            memcpy(at, own->input, count * size);
        at += count * size;
    }
    return true;
}

static const void *scaled_input(struct batch *batch, void *into)
{
    const struct tensor *own = batch->tensors[0].own;
    if (batch->description.prescale == 1)
        return own->input;
    scale_function(batch->description.dtype)(into, own->input, batch->total,
                                             batch->description.prescale);
    return into;
}

static bool prepare_allreduce(struct batch *batch, struct operation_task *task,
                              struct set_memory *memory)
{
    struct tensor *own = batch->tensors[0].own;
    task->count = batch->total;
    if (batch->count > 1) {
        if (!pack(batch, memory))
            return false;
        task->input = task->output = memory->buffer;
    } else if (own) {
        task->output = own->output;
        task->input = scaled_input(batch, own->output);
    } else {
        batch->memory = calloc(batch->total + 1, batch_element_size(batch));
        task->input = task->output = batch->memory;
    }
    return task->output || batch->total == 0;
}

static bool prepare_reducescatter(struct batch *batch, struct operation_task *task)
{
    struct tensor *own = batch->tensors[0].own;
    if (batch->description.prescale != 1 &&
        !(batch->memory = malloc(batch->total * batch_element_size(batch) + 1)))
        return false;
    task->input = scaled_input(batch, batch->memory);
    task->output = own->output;
    return true;
}

/* True if the input lies in the output, but not in its final place. Then the result is made
 * elsewhere and copied. */
static bool is_misplaced(const struct tensor *own, const unsigned char *output, size_t nbytes,
                         size_t own_offset)
{
    const unsigned char *input = own->input;
    return input + description_bytes(&own->description) > output && input < output + nbytes &&
           input != output + own_offset;
}

static bool prepare_allgather(const struct process_set *set, struct batch *batch,
                              struct operation_task *task)
{
    size_t rows = 0, own_offset = 0, nbytes;
    size_t row = task->row_count * batch_element_size(batch);
    struct tensor *own = batch->tensors[0].own;
    for (int rank = 0; rank < set->size; rank++) {
        if (rank == set->rank)
            own_offset = rows * row;
        rows += (size_t)batch->rows[rank];
    }
    if (__builtin_mul_overflow(rows, row, &nbytes))
        return false;
    task->input = own->input;
    task->splits = batch->rows;
    task->output = complete_place(own, nbytes, &batch->memory);
    if (!batch->memory && is_misplaced(own, task->output, nbytes, own_offset))
        task->output = batch->memory = malloc(nbytes);
    return task->output;
}

/* `rows` may be the batch's own. */
void *batch_place_rows(void *arg, const int64_t *rows)
{
    struct batch *batch = arg;
    struct tensor *own = batch->tensors[0].own;
    struct process_set *set = own->set;
    size_t total = 0, nbytes;
    for (int rank = 0; rank < set->size; rank++) {
        batch->rows[rank] = rows[rank];
        total += (size_t)rows[rank];
    }
    size_t row = shape_row_count(&batch->description.shape) * batch_element_size(batch);
    if (__builtin_mul_overflow(total, row, &nbytes))
        return NULL;
    return batch->output = complete_place(own, nbytes, &batch->memory);
}

bool batch_prepare(struct process_set *set, struct batch *batch, struct operation_task *task,
                   struct set_memory *memory)
{
    const struct description *description = &batch->description;
    struct tensor *own = batch->tensors[0].own;
    switch (task->kind) {
    case OPERATION_ALLREDUCE:
    case OPERATION_ADASUM:
        return prepare_allreduce(batch, task, memory);
    case OPERATION_REDUCESCATTER:
        task->rows = description->shape.dims[0];
        return prepare_reducescatter(batch, task);
    case OPERATION_ALLGATHER:
        return prepare_allgather(set, batch, task);
    case OPERATION_ALLTOALL:
        task->input = own->input;
        task->splits = own->splits;
        task->received = batch->has_rows ? batch->rows : NULL;
        task->place = batch_place_rows;
        task->place_arg = batch;
        return true;
    default:
        task->count = batch->total;
        task->output = own->output;
        return true;
    }
}

/* True if all peers can read this rank's memory in place. `*far` is true if one of them is far. */
static bool peers_share(const struct process_set *set, int count, bool *far)
{
    *far = false;
    for (int i = 0; i < count; i++) {
        const struct channel *channel = set->links.channels[set->batches.others[i]];
        if (!channel->link)
            continue; /* it has ended, as see_missing_channels() will see */
        if (!channel->link->type->offer)
            return false;
        *far |= link_is_far(channel->link);
    }
    return true;
}

/* Memory that is shared already is read where it lies. Without memory, each peer gets a copy of its
 * own. */
void batch_share(struct process_set *set, struct operation_task *task, struct set_memory *memory)
{
    struct shared_place place;
    size_t nbytes = task->count * dtype_size((int)task->dtype);
    bool is_root = task->algorithm == ALGORITHM_LINEAR && task->rank == task->root;
    if (!is_root || shared_heap_find(task->output, nbytes, &place))
        return;
    int count = operation_peers(task, set->batches.others);
    if (peers_share(set, count, &task->shared_far) &&
        grow_buffer(memory, OPERATION_SHARED, OPERATION_SHARED))
        task->shared = memory->buffer;
}
