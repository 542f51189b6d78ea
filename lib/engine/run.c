/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: each waits in line, becomes an operation in the window, and settles its tensors when that is
 * done.
 *
 *   queued -> (the links that it needs; on devices, data that is here) -> under way
 *   -> done;  any -> failed
 *
 * Small tensors that were decided on together lie in the window's buffer while they are reduced;
 * everything else is worked on where it lies. Where this rank has joined, zeros take the place of
 * the tensor. Fails with HVD_ERR_NOMEM, which breaks the world. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"
#include "lib/memory/shared_heap.h"
#include "lib/reduce/reduce.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

/* Of the task all but memory. */
static void run_describe(const struct process_set *set, const struct run *run,
                         struct operation_task *task)
{
    const struct description *description = &run->description;
    *task = (struct operation_task){
        .kind = description_operation(description),
        .algorithm = (int)run->algorithm,
        .rank = set->rank,
        .size = set->size,
        .root = description->root,
        .placing = set->placing,
        .dtype = description->dtype,
        .op = description->op,
        .row_count = shape_row_count(&description->shape),
    };
}

int run_find_others(const struct process_set *set, const struct run *run)
{
    struct operation_task task;
    run_describe(set, run, &task);
    return operation_peers(&task, set->runs.others);
}

static bool is_staged(const struct run *run)
{
    return run->stage.step != STAGE_NONE;
}

/* Describes the task, and finds it memory; false when there is none. */
static bool run_make_task(struct process_set *set, struct run *run, struct operation_task *task,
                          struct set_memory *memory)
{
    run_describe(set, run, task);
    if (set->engine->timeline)
        trace_packing(run);
    return is_staged(run) ? stage_prepare(set, run, task) : run_prepare(set, run, task, memory);
}

static int run_start(struct process_set *set, struct run *run, struct err *err)
{
    struct set_runs *runs = &set->runs;
    int place = (int)(runs->window.end % WINDOW_SIZE);
    struct set_memory *memory = &runs->memory[place];
    struct operation_task task;
    if (!memory->staging && !(memory->staging = aligned_alloc(ALIGNMENT, OPERATION_STAGING)))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (!run_make_task(set, run, &task, memory))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (set->engine->timeline)
        trace_moving(run);
    task.staging = memory->staging;
    task.crew = set->engine->crew;
    run->output = task.output;
    run->place = place;
    run->operation = operation_start(runs->store, &task, err);
    if (!run->operation)
        return err->code;
    runs->running[place] = run;
    runs->window.at[place] = run->operation;
    runs->window.end++;
    return HVD_OK;
}

/* ---- done ---- */

/* Its result has been made. */
static void run_finish(struct process_set *set, struct run *run)
{
    struct tensor *own = run->tensors[0].own;
    if (is_staged(run)) {
        stage_return(set, run);
        return;
    }
    if (collective_has_own_rows(run->description.kind)) {
        void *memory = run->memory;
        run->memory = NULL;
        complete_rows(own, run->rows, set->size, run->output, memory);
    } else if (run->description.kind == COLLECTIVE_REDUCESCATTER) {
        complete_share(own, NULL);
    } else if (run->count == 1) {
        if (own)
            complete_whole(own, run->output);
    } else { /* fused */
        const unsigned char *at = run->output;
        for (int i = 0; i < run->count; i++) {
            own = run->tensors[i].own;
            if (own) {
                trace_unpacked(own);
                complete_whole(own, at);
            }
            at += run->tensors[i].count * run_element_size(run);
        }
    }
    run_release(set, run);
}

/* In a set of one rank: the input, as a reduction or another collective gives it back. */
static void run_give_back(const struct run *run, const struct operation_task *task)
{
    size_t nbytes = run->total * run_element_size(run);
    switch (task->kind) {
    case OPERATION_ALLREDUCE:
    case OPERATION_REDUCESCATTER:
        reduce_single(task->output, task->input, run->total, task->dtype);
        return;
    case OPERATION_BROADCAST:
        return;
    default:
        if (task->splits)
            nbytes = (size_t)task->splits[0] * task->row_count * run_element_size(run);
        if (nbytes > 0 && task->output != task->input)
            memcpy(task->output, task->input, nbytes);
    }
}

static int run_alone(struct process_set *set, struct run *run, struct err *err)
{
    struct operation_task task;
    bool ready = run_make_task(set, run, &task, &set->runs.memory[0]);
    if (ready && task.place)
        ready = (task.output = task.place(task.place_arg, task.splits)) != NULL;
    if (!ready)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    run_give_back(run, &task);
    run->output = task.output;
    run_finish(set, run);
    return HVD_OK;
}

/* ---- the line and the window ---- */

static struct run *run_dequeue(struct process_set *set)
{
    struct run *run = set->runs.queue;
    set->runs.queue = run->next;
    if (!set->runs.queue)
        set->runs.queue_end = &set->runs.queue;
    set->runs.queued--;
    run->next = NULL;
    return run;
}

/* The links that a run needs are wanted when it is decided on (run_queue.c), and must be there when it
 * starts. Those behind it wait, too: all ranks start what they have decided on in the same order. */
static bool run_has_links(struct process_set *set, const struct run *run)
{
    if (set->size < 2 || set->links.nawaited == 0 || algorithm_is_near(run->algorithm))
        return true;
    int count = run_find_others(set, run);
    for (int i = 0; i < count; i++)
        if (!set->links.channels[set->runs.others[i]])
            return false;
    return true;
}

bool runs_can_start(struct process_set *set)
{
    const struct run *run = set->runs.queue;
    if (!run || set->runs.window.end - set->runs.window.first == WINDOW_SIZE)
        return false;
    bool is_here = !is_staged(run) || run->stage.step == STAGE_HERE;
    return is_here && run_has_links(set, run);
}

int runs_start(struct process_set *set, struct err *err)
{
    int started = 0;
    while (runs_can_start(set)) {
        struct run *run = run_dequeue(set);
        int rc = set->size < 2 ? run_alone(set, run, err) : run_start(set, run, err);
        if (rc < 0) {
            run->next = set->runs.queue; /* for runs_fail() */
            if (!set->runs.queue)
                set->runs.queue_end = &run->next;
            set->runs.queue = run;
            set->runs.queued++;
            return rc;
        }
        started = 1;
    }
    return started;
}

int runs_finish(struct process_set *set)
{
    struct operation_window *window = &set->runs.window;
    int finished = 0;
    for (uint32_t number = window->first; number != window->end; number++) {
        int place = (int)(number % WINDOW_SIZE);
        struct run *run = set->runs.running[place];
        if (!run || run->operation->spoiled || !run->operation->type->done(run->operation))
            continue;
        if (set->engine->timeline)
            trace_moved(run);
        operation_fini(set->runs.store, run->operation);
        run->operation = NULL;
        set->runs.running[place] = NULL;
        window->at[place] = NULL;
        run_finish(set, run);
        finished = 1;
    }
    while (window->first != window->end && !window->at[window->first % WINDOW_SIZE])
        window->first++;
    return finished;
}

static void run_fail(struct process_set *set, struct run *run, const struct err *reason)
{
    if (is_staged(run)) {
        stage_fail(set, run, reason);
        return;
    }
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].own)
            complete_tensor(run->tensors[i].own, reason);
    run_release(set, run);
}

void runs_fail(struct process_set *set, const struct err *reason)
{
    set_close_data(set); /* before memory is given back that others may read */
    for (int place = 0; place < WINDOW_SIZE; place++) {
        struct run *run = set->runs.running[place];
        set->runs.running[place] = NULL;
        set->runs.window.at[place] = NULL;
        if (!run)
            continue;
        operation_fini(set->runs.store, run->operation);
        run->operation = NULL;
        run_fail(set, run, reason);
    }
    set->runs.window.first = set->runs.window.end;
    while (set->runs.queue)
        run_fail(set, run_dequeue(set), reason);
    stage_fail_all(set, reason);
}

void runs_fail_unlinked(struct process_set *set, const struct err *reason)
{
    struct run **link = &set->runs.queue, *next;
    while (*link && run_has_links(set, *link))
        link = &(*link)->next;
    struct run *run = *link;
    *link = NULL;
    set->runs.queue_end = link;
    for (; run; run = next) {
        next = run->next;
        run->next = NULL;
        set->runs.queued--;
        run_fail(set, run, reason);
    }
}

int runs_init(struct process_set *set, struct err *err)
{
    struct set_runs *runs = &set->runs;
    runs->queue_end = &runs->queue;
    runs->others = calloc((size_t)set->size, sizeof *runs->others);
    runs->store = operation_store_create();
    return runs->others && runs->store ? HVD_OK : fail(err, HVD_ERR_NOMEM, "out of memory");
}

void runs_fini(struct process_set *set)
{
    operation_store_destroy(set->runs.store);
    free(set->runs.others);
    for (int place = 0; place < WINDOW_SIZE; place++) {
        free(set->runs.memory[place].staging);
        shared_heap_free(set->runs.memory[place].buffer);
    }
    for (struct run *next; set->runs.free; set->runs.free = next) {
        next = set->runs.free->next;
        free(set->runs.free->tensors);
        free(set->runs.free->rows);
        free(set->runs.free);
    }
}

int runs_under_way(const struct process_set *set)
{
    return set->runs.queued + (int)(set->runs.window.end - set->runs.window.first);
}
