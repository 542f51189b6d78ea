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

void run_describe(const struct process_set *set, const struct run *run, struct operation_task *task)
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

static bool is_staged(const struct run *run)
{
    return run->stage.step != STAGE_NONE;
}

static bool prepare(struct process_set *set, struct run *run, struct operation_task *task,
                    struct set_memory *memory)
{
    return is_staged(run) ? stage_prepare(set, run, task) : run_prepare(set, run, task, memory);
}

static int start(struct process_set *set, struct run *run, struct err *err)
{
    int place = (int)(set->runs.window.end % WINDOW_SIZE);
    struct set_memory *memory = &set->runs.memory[place];
    struct operation_task task;
    run_describe(set, run, &task);
    trace_packing(run);
    if (!run_get_staging(memory) || !prepare(set, run, &task, memory))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    trace_moving(run);
    task.staging = memory->staging;
    task.crew = set->engine->crew;
    run->output = task.output;
    run->place = place;
    run->operation = operation_start(set->runs.store, &task, err);
    if (!run->operation)
        return err->code;
    set->runs.running[place] = run;
    set->runs.window.at[place] = run->operation;
    set->runs.window.end++;
    return HVD_OK;
}

/* ---- done ---- */

static void settle_packed(struct run *run, const unsigned char *at)
{
    for (int i = 0; i < run->count; i++) {
        if (run->tensors[i].own) {
            trace_unpacked(run->tensors[i].own);
            settle_whole(run->tensors[i].own, at);
        }
        at += run->tensors[i].count * run_element_size(run);
    }
}

static void settle_run(struct process_set *set, struct run *run)
{
    struct tensor *own = run->tensors[0].own;
    void *memory = run->memory;
    switch (run->description.kind) {
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_ALLTOALL:
        run->memory = NULL;
        settle_rows(own, run->rows, set->size, run->output, memory);
        return;
    case COLLECTIVE_REDUCESCATTER:
        settle_share(own, NULL);
        return;
    default:
        if (run->count > 1)
            settle_packed(run, run->output);
        else if (own)
            settle_whole(own, run->output);
    }
}

static void finish(struct process_set *set, struct run *run)
{
    if (is_staged(run)) {
        stage_return(set, run);
        return;
    }
    settle_run(set, run);
    run_release(set, run);
}

/* In a set of one rank: the input, as a reduction or another collective gives it back. */
static void give_back(const struct run *run, const struct operation_task *task)
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
    struct set_memory *memory = &set->runs.memory[0];
    run_describe(set, run, &task);
    trace_packing(run);
    bool ready = prepare(set, run, &task, memory);
    if (ready && task.place)
        ready = (task.output = task.place(task.place_arg, task.splits)) != NULL;
    if (!ready)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    give_back(run, &task);
    run->output = task.output;
    finish(set, run);
    return HVD_OK;
}

/* ---- the line and the window ---- */

static struct run *take_first(struct process_set *set)
{
    struct run *run = set->runs.queue;
    set->runs.queue = run->next;
    if (!set->runs.queue)
        set->runs.queue_end = &set->runs.queue;
    set->runs.queued--;
    run->next = NULL;
    return run;
}

static bool window_has_room(const struct process_set *set)
{
    return set->runs.window.end - set->runs.window.first < WINDOW_SIZE;
}

static bool is_here(const struct run *run)
{
    return !is_staged(run) || run->stage.step == STAGE_HERE;
}

bool runs_can_start(struct process_set *set)
{
    const struct run *run = set->runs.queue;
    return run && window_has_room(set) && is_here(run) && run_has_links(set, run);
}

int runs_start(struct process_set *set, struct err *err)
{
    int started = 0;
    while (runs_can_start(set)) {
        struct run *run = take_first(set);
        int rc = set->size < 2 ? run_alone(set, run, err) : start(set, run, err);
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
        trace_moved(run);
        operation_fini(set->runs.store, run->operation);
        run->operation = NULL;
        set->runs.running[place] = NULL;
        window->at[place] = NULL;
        finish(set, run);
        finished = 1;
    }
    while (window->first != window->end && !window->at[window->first % WINDOW_SIZE])
        window->first++;
    return finished;
}

static void fail_run(struct process_set *set, struct run *run, const struct err *reason)
{
    if (is_staged(run)) {
        stage_fail(set, run, reason);
        return;
    }
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].own)
            settle_tensor(run->tensors[i].own, reason);
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
        fail_run(set, run, reason);
    }
    set->runs.window.first = set->runs.window.end;
    while (set->runs.queue)
        fail_run(set, take_first(set), reason);
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
        fail_run(set, run, reason);
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
