/* SPDX-License-Identifier: Apache-2.0 */
/* Spans of the timeline; see trace.h. */
#include "lib/engine/trace.h"

#include "lib/reduce/reduce.h"

#include <stdio.h>

/* The names that Horovod uses. */
static const struct {
    const char *negotiate, *span;
} names[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = { "NEGOTIATE_ALLREDUCE", "ALLREDUCE" },
    [COLLECTIVE_ALLGATHER] = { "NEGOTIATE_ALLGATHER", "ALLGATHER" },
    [COLLECTIVE_BROADCAST] = { "NEGOTIATE_BROADCAST", "BROADCAST" },
    [COLLECTIVE_ALLTOALL] = { "NEGOTIATE_ALLTOALL", "ALLTOALL" },
    [COLLECTIVE_REDUCESCATTER] = { "NEGOTIATE_REDUCESCATTER", "REDUCESCATTER" },
    [COLLECTIVE_BARRIER] = { "NEGOTIATE_BARRIER", "BARRIER" },
    [COLLECTIVE_JOIN] = { "NEGOTIATE_JOIN", "JOIN" },
    [COLLECTIVE_ADD_SET] = { "NEGOTIATE_ADD_PROCESS_SET", "ADD_PROCESS_SET" },
    [COLLECTIVE_REMOVE_SET] = { "NEGOTIATE_REMOVE_PROCESS_SET", "REMOVE_PROCESS_SET" },
};

enum { TRACE_NAME = HVD_NAME_MAX + 32, SPAN_NAME = 64 };

/* Names have their set in front; names in the world stand alone. Returns `text`, or the name
 * itself. */
static const char *trace_name_of(char text[TRACE_NAME], const struct process_set *set,
                                 const char *name)
{
    if (set->id == 0)
        return name_shown(name);
    snprintf(text, TRACE_NAME, "%s (process set %d)", name_shown(name), set->id);
    return text;
}

static void on_trace_ready(void *arg, const char *name, enum collective_kind kind, int first,
                           int trace_end)
{
    const struct process_set *set = arg;
    struct timeline *timeline = set->engine->timeline;
    char text[TRACE_NAME];
    name = trace_name_of(text, set, name);
    if (!timeline_is_open(timeline, name))
        timeline_begin(timeline, name, names[kind].negotiate);
    for (int rank = first; rank < trace_end; rank++)
        timeline_ready(timeline, name, set->ranks[rank]);
}

static void on_decided(void *arg, const char *name, enum collective_kind kind)
{
    const struct process_set *set = arg;
    char text[TRACE_NAME];
    (void)kind;
    timeline_end(set->engine->timeline, trace_name_of(text, set, name));
}

void trace_observe(struct process_set *set)
{
    set->observer = (struct negotiation_observer){ on_trace_ready, on_decided, set };
    if (set->rank == 0)
        negotiation_observe(set->negotiation, set->engine->timeline ? &set->observer : NULL);
}

static struct timeline *timeline_of(const struct batch *batch)
{
    return batch->set->engine->timeline;
}

/* Does this for each tensor of the batch that this rank has. */
static void trace_begin(const struct batch *batch, const char *span)
{
    char text[TRACE_NAME];
    for (int i = 0; i < batch->count; i++)
        if (batch->tensors[i].own)
            timeline_begin(timeline_of(batch),
                           trace_name_of(text, batch->set, batch->tensors[i].own->name), span);
}

static void trace_end(const struct batch *batch)
{
    char text[TRACE_NAME];
    for (int i = 0; i < batch->count; i++)
        if (batch->tensors[i].own)
            timeline_end(timeline_of(batch),
                         trace_name_of(text, batch->set, batch->tensors[i].own->name));
}

static bool is_staged(const struct batch *batch)
{
    return batch->description.memory != MEMORY_HOST;
}

/* "TWO_LEVEL_ALLREDUCE": the name of a span that moves data, with the algorithm in front. Returns
 * `text`. */
static const char *moving_span(char text[SPAN_NAME], const struct batch *batch)
{
    snprintf(text, SPAN_NAME, "%s_%s", algorithm_name(batch->choice.algorithm),
             names[batch->description.kind].span);
    for (char *at = text; *at; at++)
        *at = *at == '-' ? '_' : *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
    return text;
}

/* May use `text`. */
static const char *span_of(char text[SPAN_NAME], const struct batch *batch, enum trace_phase phase)
{
    static const char *const spans[] = {
        [PHASE_QUEUE] = "QUEUE",
        [PHASE_IN] = "MEMCPY_IN_HOST_BUFFER",
        [PHASE_OUT] = "MEMCPY_OUT_HOST_BUFFER",
    };
    if (phase != PHASE_MOVING)
        return spans[phase];
    if (batch->description.memory == MEMORY_DEVICE_REDUCES) {
        snprintf(text, SPAN_NAME, "DEVICE_%s", names[batch->description.kind].span);
        return text;
    }
    return batch->description.op == HVD_ADASUM ? "HALVING_ADASUM" : moving_span(text, batch);
}

static bool is_open(const struct tensor *tensor)
{
    return tensor->phase != PHASE_NONE && tensor->phase != PHASE_MOVED;
}

/* True for the last part of a tensor. */
static bool is_last(const struct batch_tensor *part)
{
    return part->offset + part->count == shape_count(&part->own->description.shape);
}

static void enter_phase(const struct batch *batch, struct tensor *own, enum trace_phase phase)
{
    char text[TRACE_NAME], span[SPAN_NAME];
    struct timeline *timeline = timeline_of(batch);
    const char *name = trace_name_of(text, batch->set, own->name);
    const struct timeline_args args = {
        .algorithm = batch->operation ? batch->operation->type->algorithm : NULL,
        .nbytes = description_bytes(&own->description),
    };
    if (is_open(own))
        timeline_end_with(timeline, name,
                          phase == PHASE_MOVED ? &args : &(struct timeline_args){ 0 });
    if (phase == PHASE_QUEUE)
        timeline_begin(timeline, name, names[batch->description.kind].span);
    if (phase != PHASE_MOVED)
        timeline_begin(timeline, name, span_of(span, batch, phase));
    own->phase = phase;
}

void trace_stage(const struct batch *batch, enum trace_phase phase)
{
    if (!timeline_of(batch))
        return;
    for (int i = 0; i < batch->count; i++) {
        const struct batch_tensor *part = &batch->tensors[i];
        if (part->own && part->own->phase < (int)phase && (phase < PHASE_MOVED || is_last(part)))
            enter_phase(batch, part->own, phase);
    }
}

void trace_unstaged(struct tensor *tensor)
{
    char text[TRACE_NAME];
    struct timeline *timeline = tensor->set->engine->timeline;
    if (timeline && is_open(tensor))
        timeline_end(timeline, trace_name_of(text, tensor->set, tensor->name));
    tensor->phase = PHASE_NONE;
}

void trace_waits(const struct tensor *tensor)
{
    char text[TRACE_NAME];
    struct timeline *timeline = tensor->set->engine->timeline;
    if (timeline)
        timeline_begin(timeline, trace_name_of(text, tensor->set, tensor->name), "WAIT_FOR_DATA");
}

void trace_made(const struct tensor *tensor)
{
    char text[TRACE_NAME];
    struct timeline *timeline = tensor->set->engine->timeline;
    if (timeline)
        timeline_end(timeline, trace_name_of(text, tensor->set, tensor->name));
}

void trace_queued(const struct batch *batch)
{
    if (is_staged(batch)) {
        trace_stage(batch, PHASE_QUEUE);
        return;
    }
    trace_begin(batch, names[batch->description.kind].span);
    trace_begin(batch, "QUEUE");
}

void trace_packing(const struct batch *batch)
{
    if (is_staged(batch))
        return;
    trace_end(batch);
    if (batch->count > 1)
        trace_begin(batch, "MEMCPY_IN_FUSION_BUFFER");
}

void trace_moving(const struct batch *batch)
{
    char span[SPAN_NAME];
    if (is_staged(batch)) {
        trace_stage(batch, PHASE_MOVING);
        return;
    }
    if (batch->count > 1)
        trace_end(batch);
    trace_begin(batch, span_of(span, batch, PHASE_MOVING));
}

void trace_moved(const struct batch *batch)
{
    if (is_staged(batch)) {
        trace_stage(batch, PHASE_MOVED);
        return;
    }
    const struct timeline_args args = {
        .algorithm = batch->operation->type->algorithm,
        .nbytes = batch->total * dtype_size((int)batch->description.dtype),
    };
    char text[TRACE_NAME];
    for (int i = 0; i < batch->count; i++)
        if (batch->tensors[i].own)
            timeline_end_with(timeline_of(batch),
                              trace_name_of(text, batch->set, batch->tensors[i].own->name), &args);
    if (batch->count > 1)
        trace_begin(batch, "MEMCPY_OUT_FUSION_BUFFER");
}

void trace_done(const struct tensor *tensor, bool failed)
{
    struct timeline *timeline = tensor->set->engine->timeline;
    char shape[SHAPE_TEXT];
    if (!timeline)
        return;
    char text[TRACE_NAME];
    const char *name = trace_name_of(text, tensor->set, tensor->name);
    if (failed) {
        while (timeline_is_open(timeline, name))
            timeline_end(timeline, name);
        return;
    }
    const struct description *description = &tensor->description;
    struct timeline_args args = { .dtype = dtype_name((int)description->dtype), .shape = shape };
    shape_text(shape, &description->shape, false);
    if (!tensor->decided) { /* the data came along */
        args.algorithm = "tree";
        args.nbytes = description_bytes(description);
        timeline_begin(timeline, name, names[description->kind].span);
    }
    timeline_end_with(timeline, name, &args);
}

void trace_unpacked(const struct tensor *tensor)
{
    char text[TRACE_NAME];
    if (tensor->set->engine->timeline)
        timeline_end(tensor->set->engine->timeline, trace_name_of(text, tensor->set, tensor->name));
}
