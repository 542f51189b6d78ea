/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: each waits in the queue, becomes an operation in the window, and completes its tensors
 * when the operation is done.
 *
 *   queued -> (the links that it needs are there; data from devices is copied) -> under way
 *   -> done;  any -> failed
 *
 * Small tensors that were decided on together are reduced in the window's buffer; all other tensors
 * are reduced in place. Where this rank has joined, zeros take the place of the tensor. Fails with
 * HVD_ERR_NOMEM, which breaks the world. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"
#include "lib/memory/shared_heap.h"
#include "lib/reduce/reduce.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* Fills in all of the task but its memory. */
static void batch_describe(const struct process_set *set, const struct batch *batch,
                           struct operation_task *task)
{
    const struct description *description = &batch->description;
    *task = (struct operation_task){
        .kind = description_operation(description),
        .algorithm = (int)batch->choice.algorithm,
        .piece = batch->choice.piece,
        .rank = set->rank,
        .size = set->size,
        .root = description->root,
        .placing = set->placing,
        .dtype = description->dtype,
        .op = description->op,
        .row_count = shape_row_count(&description->shape),
    };
}

int batch_find_others(const struct process_set *set, const struct batch *batch)
{
    struct operation_task task;
    batch_describe(set, batch, &task);
    return operation_peers(&task, set->batches.others);
}

static bool is_staged(const struct batch *batch)
{
    return batch->stage.step != STAGE_NONE;
}

/* Describes the task, and prepares its memory; false when there is none. */
static bool batch_make_task(struct process_set *set, struct batch *batch,
                            struct operation_task *task, struct set_memory *memory)
{
    batch_describe(set, batch, task);
    if (set->engine->timeline)
        trace_packing(batch);
    return is_staged(batch) ? stage_prepare(set, batch, task)
                            : batch_prepare(set, batch, task, memory);
}

static int batch_start(struct process_set *set, struct batch *batch, struct err *err)
{
    struct set_batches *batches = &set->batches;
    int place = (int)(batches->window.end % WINDOW_SIZE);
    struct set_memory *memory = &batches->memory[place];
    struct operation_task task;
    if (!memory->staging && !(memory->staging = aligned_alloc(ALIGNMENT, OPERATION_STAGING)))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (!batch_make_task(set, batch, &task, memory))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (set->engine->timeline)
        trace_moving(batch);
    task.staging = memory->staging;
    batch_share(set, &task, memory);
    task.pool = set->engine->pool;
    batch->output = task.output;
    batch->place = place;
    batch->operation = operation_start(batches->store, &task, err);
    if (!batch->operation)
        return err->code;
    batches->running[place] = batch;
    batches->window.at[place] = batch->operation;
    batches->window.end++;
    return HVD_OK;
}

/* ---- done ---- */

/* The result of the batch has been made. */
static void batch_finish(struct process_set *set, struct batch *batch)
{
    struct tensor *own = batch->tensors[0].own;
    if (is_staged(batch)) {
        stage_return(set, batch);
        return;
    }
    if (collective_has_own_rows(batch->description.kind)) {
        void *memory = batch->memory;
        batch->memory = NULL;
        complete_rows(own, batch->rows, set->size, batch->output, memory);
    } else if (batch->description.kind == COLLECTIVE_REDUCESCATTER) {
        complete_share(own, NULL);
    } else if (batch->count == 1) {
        if (own)
            complete_whole(own, batch->output);
    } else { /* fused */
        const unsigned char *at = batch->output;
        for (int i = 0; i < batch->count; i++) {
            own = batch->tensors[i].own;
            if (own) {
                trace_unpacked(own);
                complete_whole(own, at);
            }
            at += batch->tensors[i].count * batch_element_size(batch);
        }
    }
    batch_release(set, batch);
}

/* In a set of one rank: copies the input to the output, as a reduction or another collective
 * would. */
static void batch_give_back(const struct batch *batch, const struct operation_task *task)
{
    size_t nbytes = batch->total * batch_element_size(batch);
    switch (task->kind) {
    case OPERATION_ALLREDUCE:
    case OPERATION_REDUCESCATTER:
        reduce_single(task->output, task->input, batch->total, task->dtype);
        return;
    case OPERATION_BROADCAST:
        return;
    default:
        if (task->splits)
            nbytes = (size_t)task->splits[0] * task->row_count * batch_element_size(batch);
        if (nbytes > 0 && task->output != task->input)
            memcpy(task->output, task->input, nbytes);
    }
}

static int batch_alone(struct process_set *set, struct batch *batch, struct err *err)
{
    struct operation_task task;
    bool ready = batch_make_task(set, batch, &task, &set->batches.memory[0]);
    if (ready && task.place)
        ready = (task.output = task.place(task.place_arg, task.splits)) != NULL;
    if (!ready)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    batch_give_back(batch, &task);
    batch->output = task.output;
    batch_finish(set, batch);
    return HVD_OK;
}

/* ---- the queue and the window ---- */

static struct batch *batch_dequeue(struct process_set *set)
{
    struct batch *batch = set->batches.queue;
    set->batches.queue = batch->next;
    if (!set->batches.queue)
        set->batches.queue_end = &set->batches.queue;
    set->batches.queued--;
    batch->next = NULL;
    return batch;
}

/* The links that a batch needs are wanted when it is decided on (batch_queue.c), and must be there
 * when it starts. The batches behind it wait, too: all ranks start their batches in the same
 * order. */
static bool batch_has_links(struct process_set *set, const struct batch *batch)
{
    if (set->size < 2 || set->links.nawaited == 0 || algorithm_is_near(batch->choice.algorithm))
        return true;
    int count = batch_find_others(set, batch);
    for (int i = 0; i < count; i++)
        if (!set->links.channels[set->batches.others[i]])
            return false;
    return true;
}

bool batches_can_start(struct process_set *set)
{
    const struct batch *batch = set->batches.queue;
    if (!batch || set->batches.window.end - set->batches.window.first == WINDOW_SIZE)
        return false;
    bool is_here = !is_staged(batch) || batch->stage.step == STAGE_HERE;
    return is_here && batch_has_links(set, batch);
}

int batches_start(struct process_set *set, struct err *err)
{
    int started = 0;
    while (batches_can_start(set)) {
        struct batch *batch = batch_dequeue(set);
        int rc = set->size < 2 ? batch_alone(set, batch, err) : batch_start(set, batch, err);
        if (rc < 0) {
            batch->next = set->batches.queue; /* for batches_fail() */
            if (!set->batches.queue)
                set->batches.queue_end = &batch->next;
            set->batches.queue = batch;
            set->batches.queued++;
            return rc;
        }
        started = 1;
    }
    return started;
}

int batches_finish(struct process_set *set)
{
    struct operation_window *window = &set->batches.window;
    int finished = 0;
    for (uint32_t number = window->first; number != window->end; number++) {
        int place = (int)(number % WINDOW_SIZE);
        struct batch *batch = set->batches.running[place];
        if (!batch || batch->operation->spoiled || !batch->operation->type->done(batch->operation))
            continue;
        if (set->engine->timeline)
            trace_moved(batch);
        operation_fini(set->batches.store, batch->operation);
        batch->operation = NULL;
        set->batches.running[place] = NULL;
        window->at[place] = NULL;
        batch_finish(set, batch);
        finished = 1;
    }
    while (window->first != window->end && !window->at[window->first % WINDOW_SIZE])
        window->first++;
    return finished;
}

static void batch_fail(struct process_set *set, struct batch *batch, const struct err *reason)
{
    if (is_staged(batch)) {
        stage_fail(set, batch, reason);
        return;
    }
    for (int i = 0; i < batch->count; i++)
        if (batch->tensors[i].own)
            complete_tensor(batch->tensors[i].own, reason);
    batch_release(set, batch);
}

void batches_fail(struct process_set *set, const struct err *reason)
{
    set_close_data(set); /* before memory is freed that other ranks may read */
    for (int place = 0; place < WINDOW_SIZE; place++) {
        struct batch *batch = set->batches.running[place];
        set->batches.running[place] = NULL;
        set->batches.window.at[place] = NULL;
        if (!batch)
            continue;
        operation_fini(set->batches.store, batch->operation);
        batch->operation = NULL;
        batch_fail(set, batch, reason);
    }
    set->batches.window.first = set->batches.window.end;
    while (set->batches.queue)
        batch_fail(set, batch_dequeue(set), reason);
    stage_fail_all(set, reason);
}

void batches_fail_unlinked(struct process_set *set, const struct err *reason)
{
    struct batch **link = &set->batches.queue, *next;
    while (*link && batch_has_links(set, *link))
        link = &(*link)->next;
    struct batch *batch = *link;
    *link = NULL;
    set->batches.queue_end = link;
    for (; batch; batch = next) {
        next = batch->next;
        batch->next = NULL;
        set->batches.queued--;
        batch_fail(set, batch, reason);
    }
}

int batches_init(struct process_set *set, struct err *err)
{
    struct set_batches *batches = &set->batches;
    batches->queue_end = &batches->queue;
    batches->others = calloc((size_t)set->size, sizeof *batches->others);
    batches->store = operation_store_create();
    return batches->others && batches->store ? HVD_OK : fail(err, HVD_ERR_NOMEM, "out of memory");
}

void batches_fini(struct process_set *set)
{
    operation_store_destroy(set->batches.store);
    free(set->batches.others);
    for (int place = 0; place < WINDOW_SIZE; place++) {
        free(set->batches.memory[place].staging);
        shared_heap_free(set->batches.memory[place].buffer);
    }
    for (struct batch *next; set->batches.free; set->batches.free = next) {
        next = set->batches.free->next;
        free(set->batches.free->tensors);
        free(set->batches.free->rows);
        free(set->batches.free);
    }
}

int batches_under_way(const struct process_set *set)
{
    return set->batches.queued + (int)(set->batches.window.end - set->batches.window.first);
}
