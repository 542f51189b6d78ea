/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions whose data has to be moved: each becomes a run, waits in line, becomes an operation in
 * the window, and settles its tensors when that is done.
 *
 *   queued -> (links to all ranks, if it needs them) -> under way -> done;  any -> failed
 *
 * Small tensors that were decided on together lie in the window's buffer while they are reduced;
 * everything else is worked on where it lies. Where this rank has joined, zeros take the place of
 * the tensor. Fails with HVD_ERR_NOMEM or HVD_ERR_PROTOCOL, which breaks the world. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"
#include "lib/reduce/reduce.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_LEAST = 32 };

/* ---- from a decision to a run ---- */

/* Doubled, so that a run that is used again soon has room for whatever is fused. */
static bool make_room(struct run *run, int count)
{
    int capacity = run->capacity ? run->capacity : TENSORS_LEAST;
    if (count <= run->capacity)
        return true;
    while (capacity < count)
        capacity *= 2;
    struct run_tensor *tensors = reallocarray(run->tensors, (size_t)capacity, sizeof *tensors);
    if (!tensors)
        return false;
    run->tensors = tensors;
    run->capacity = capacity;
    return true;
}

static struct run *new_run(struct process_set *set, int count, struct err *err)
{
    struct run *run = set->free_runs;
    if (run)
        set->free_runs = run->next;
    else if (!(run = calloc(1, sizeof *run)))
        goto out_of_memory;
    if (!run->rows && !(run->rows = calloc((size_t)set->size, sizeof *run->rows)))
        goto out_of_memory;
    if (!make_room(run, count))
        goto out_of_memory;
    run->next = NULL;
    return run;
out_of_memory:
    if (run) {
        run->next = set->free_runs;
        set->free_runs = run;
    }
    fail(err, HVD_ERR_NOMEM, "out of memory");
    return NULL;
}

static void release_run(struct process_set *set, struct run *run)
{
    free(run->memory);
    run->memory = NULL;
    run->operation = NULL;
    run->next = set->free_runs;
    set->free_runs = run;
}

static enum operation_kind operation_kind_of(const struct description *description)
{
    switch (description->kind) {
    case COLLECTIVE_ALLGATHER:
        return OPERATION_ALLGATHER;
    case COLLECTIVE_BROADCAST:
        return OPERATION_BROADCAST;
    case COLLECTIVE_ALLTOALL:
        return OPERATION_ALLTOALL;
    case COLLECTIVE_REDUCESCATTER:
        return OPERATION_REDUCESCATTER;
    default:
        return description->op == HVD_ADASUM ? OPERATION_ADASUM : OPERATION_ALLREDUCE;
    }
}

static bool needs_mesh(const struct run *run)
{
    return operation_needs_mesh(operation_kind_of(&run->description));
}

static int take_rows(const struct process_set *set, struct run *run, const struct agreed *agreed,
                     struct err *err)
{
    for (int rank = 0; rank < set->size; rank++) {
        run->rows[rank] = settle_read_rows(agreed, rank);
        if (run->rows[rank] < 0)
            return fail(err, HVD_ERR_PROTOCOL, "allgather '%s': rank %d gives %lld rows",
                        agreed->name, set->ranks[rank], (long long)run->rows[rank]);
    }
    return HVD_OK;
}

/* What the ranks said that belongs to the run: rows, or where they are. */
static int take_list(struct process_set *set, struct run *run, const struct agreed *agreed,
                     struct err *err)
{
    if (run->description.kind == COLLECTIVE_ALLGATHER)
        return take_rows(set, run, agreed, err);
    if (!needs_mesh(run) || set->size < 2 || set->mesh_known)
        return HVD_OK;
    set->mesh_known = true; /* on every rank from this decision on */
    return sets_remember_peers(set->engine, agreed, set, err);
}

/* Is the result of an allgather, which all ranks know alike, one that memory can hold? */
static bool result_fits(const struct process_set *set, const struct run *run)
{
    size_t row = shape_row_count(&run->description.shape) * dtype_size((int)run->description.dtype);
    int64_t rows = 0;
    size_t nbytes;
    if (run->description.kind != COLLECTIVE_ALLGATHER)
        return true;
    for (int rank = 0; rank < set->size; rank++) {
        if (run->rows[rank] > ROWS_MAX)
            return false;
        rows += run->rows[rank];
    }
    return !__builtin_mul_overflow((size_t)rows, row, &nbytes) && nbytes <= PTRDIFF_MAX;
}

static void take_tensors(struct run *run, const struct decision *decision)
{
    run->description = decision->tensors[0].description;
    run->count = decision->count;
    run->total = 0;
    for (int i = 0; i < run->count; i++) {
        const struct agreed *agreed = &decision->tensors[i];
        struct tensor *own = agreed->owner;
        const struct shape *shape = own ? &own->description.shape : &agreed->description.shape;
        run->tensors[i] = (struct run_tensor){ own, shape_count(shape) };
        run->total += run->tensors[i].count;
    }
    if (run->tensors[0].own)
        run->description = run->tensors[0].own->description;
}

static void enqueue(struct process_set *set, struct run *run)
{
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].own)
            run->tensors[i].own->decided = true;
    *set->queue_end = run;
    set->queue_end = &run->next;
    set->queued++;
    trace_queued(run);
}

int run_queue(struct process_set *set, const struct decision *decision, struct err *err)
{
    struct err reason;
    char label[REQUEST_LABEL];
    struct run *run = new_run(set, decision->count, err);
    if (!run)
        return err->code;
    run->set = set;
    take_tensors(run, decision);
    int rc = take_list(set, run, decision->tensors, err);
    if (rc == HVD_OK && result_fits(set, run)) {
        enqueue(set, run);
        return HVD_OK;
    }
    if (rc == HVD_OK) {
        fail(&reason, HVD_ERR_INVALID, "%s: the rows of all ranks do not fit into memory",
             request_label(label, COLLECTIVE_ALLGATHER, decision->tensors->name));
        settle_tensor(run->tensors[0].own, &reason);
    }
    release_run(set, run);
    return rc;
}

static void fill_task(struct process_set *set, const struct run *run, struct operation_task *task)
{
    const struct description *description = &run->description;
    *task = (struct operation_task){
        .kind = operation_kind_of(description),
        .rank = set->rank,
        .size = set->size,
        .root = description->root,
        .dtype = description->dtype,
        .op = description->op,
        .row_count = shape_row_count(&description->shape),
    };
}

static int start(struct process_set *set, struct run *run, struct err *err)
{
    int place = (int)(set->window.end % WINDOW_SIZE);
    struct set_memory *memory = &set->memory[place];
    struct operation_task task;
    fill_task(set, run, &task);
    trace_packing(run);
    if (!run_get_staging(memory) || !run_prepare(set, run, &task, memory))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    trace_moving(run);
    task.staging = memory->staging;
    run->output = task.output;
    run->place = place;
    run->operation = operation_start(set->store, &task, err);
    if (!run->operation)
        return err->code;
    set->running[place] = run;
    set->window.at[place] = run->operation;
    set->window.end++;
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

/* In a set of one rank the input is the result. */
static int run_alone(struct process_set *set, struct run *run, struct err *err)
{
    struct operation_task task;
    struct set_memory *memory = &set->memory[0];
    fill_task(set, run, &task);
    trace_packing(run);
    bool ready = run_prepare(set, run, &task, memory);
    if (ready && task.place)
        ready = (task.output = task.place(task.place_arg, task.splits)) != NULL;
    if (!ready)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    size_t nbytes = run->total * run_element_size(run);
    if (task.splits)
        nbytes = (size_t)task.splits[0] * task.row_count * run_element_size(run);
    if (task.kind != OPERATION_BROADCAST && nbytes > 0 && task.output != task.input)
        memcpy(task.output, task.input, nbytes);
    run->output = task.output;
    settle_run(set, run);
    release_run(set, run);
    return HVD_OK;
}

/* ---- the line and the window ---- */

static struct run *take_first(struct process_set *set)
{
    struct run *run = set->queue;
    set->queue = run->next;
    if (!set->queue)
        set->queue_end = &set->queue;
    set->queued--;
    run->next = NULL;
    return run;
}

static bool window_has_room(const struct process_set *set)
{
    return set->window.end - set->window.first < WINDOW_SIZE;
}

/* 1 if the first in line can be started, 0 if not yet. */
static int is_startable(struct process_set *set, struct err *err)
{
    if (!set->queue || !window_has_room(set))
        return 0;
    if (set->size < 2 || !needs_mesh(set->queue) || set->meshed)
        return 1;
    int rc = set->meshing ? HVD_OK : set_want_mesh(set, err);
    return rc < 0 ? rc : 0;
}

int runs_start(struct process_set *set, struct err *err)
{
    int startable, started = 0;
    while ((startable = is_startable(set, err)) > 0) {
        struct run *run = take_first(set);
        int rc = set->size < 2 ? run_alone(set, run, err) : start(set, run, err);
        if (rc < 0) {
            run->next = set->queue; /* for runs_fail() */
            if (!set->queue)
                set->queue_end = &run->next;
            set->queue = run;
            set->queued++;
            return rc;
        }
        started = 1;
    }
    return startable < 0 ? startable : started;
}

int runs_finish(struct process_set *set)
{
    struct operation_window *window = &set->window;
    int finished = 0;
    for (uint32_t number = window->first; number != window->end; number++) {
        int place = (int)(number % WINDOW_SIZE);
        struct run *run = set->running[place];
        if (!run || !run->operation->type->done(run->operation))
            continue;
        trace_moved(run);
        operation_fini(set->store, run->operation);
        set->running[place] = NULL;
        window->at[place] = NULL;
        settle_run(set, run);
        release_run(set, run);
        finished = 1;
    }
    while (window->first != window->end && !window->at[window->first % WINDOW_SIZE])
        window->first++;
    return finished;
}

static void fail_run(struct process_set *set, struct run *run, const struct err *reason)
{
    for (int i = 0; i < run->count; i++)
        if (run->tensors[i].own)
            settle_tensor(run->tensors[i].own, reason);
    release_run(set, run);
}

void runs_fail(struct process_set *set, const struct err *reason)
{
    for (int place = 0; place < WINDOW_SIZE; place++) {
        struct run *run = set->running[place];
        set->running[place] = NULL;
        set->window.at[place] = NULL;
        if (!run)
            continue;
        operation_fini(set->store, run->operation);
        fail_run(set, run, reason);
    }
    set->window.first = set->window.end;
    set_close_data(set);
    while (set->queue)
        fail_run(set, take_first(set), reason);
}

void runs_fini(struct process_set *set)
{
    for (int place = 0; place < WINDOW_SIZE; place++) {
        free(set->memory[place].staging);
        free(set->memory[place].buffer);
    }
    for (struct run *next; set->free_runs; set->free_runs = next) {
        next = set->free_runs->next;
        free(set->free_runs->tensors);
        free(set->free_runs->rows);
        free(set->free_runs);
    }
}

int runs_under_way(const struct process_set *set)
{
    return set->queued + (int)(set->window.end - set->window.first);
}

bool runs_can_start(const struct process_set *set)
{
    return set->queue && window_has_room(set);
}
