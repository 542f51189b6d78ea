/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions become runs, which are put into the line: one for each, but in device memory large
 * allreduces and broadcasts, and many small ones together, are cut into chunks, each a run. All
 * ranks cut alike, also those that have joined.
 *
 * Fails with HVD_ERR_NOMEM, or HVD_ERR_PROTOCOL when the numbers of rows that came along cannot be;
 * that breaks the world. So does the lack of an address of a rank whose link is needed. An allgather whose result is more than memory can hold fails alone. */
#include "lib/engine/engine_impl.h"

#include "lib/engine/trace.h"
#include "lib/reduce/reduce.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { TENSORS_LEAST = 32 };

void run_release(struct process_set *set, struct run *run)
{
    if (run->stage.step != STAGE_NONE)
        stage_leave(set, run);
    free(run->memory);
    run->memory = NULL;
    run->operation = NULL;
    run->next = set->runs.free;
    set->runs.free = run;
}

static int take_rows(const struct process_set *set, struct run *run, const struct agreed *agreed,
                     struct err *err)
{
    for (int rank = 0; rank < set->size; rank++) {
        run->rows[rank] = decision_rows(agreed, rank);
        if (run->rows[rank] < 0)
            return fail(err, HVD_ERR_PROTOCOL, "allgather '%s': rank %d gives %lld rows",
                        agreed->name, set->ranks[rank], (long long)run->rows[rank]);
    }
    return HVD_OK;
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

static void run_add_part(struct run *run, struct tensor *own, size_t offset, size_t count)
{
    run->tensors[run->count++] = (struct run_tensor){ own, offset, count };
    run->total += count;
    if (!own)
        return;
    own->decided = true;
    own->parts += run->description.memory != MEMORY_HOST;
}

static size_t count_of(const struct agreed *agreed)
{
    const struct tensor *own = agreed->owner;
    return shape_count(own ? &own->description.shape : &agreed->description.shape);
}

/* Without tensors; there will be `count` of them at most. */
static struct run *run_create(struct process_set *set, const struct decision *decision,
                              const struct agreed *agreed, int count, struct err *err)
{
    const struct tensor *own = agreed->owner;
    struct run *run = set->runs.free;
    if (run)
        set->runs.free = run->next;
    else if (!(run = calloc(1, sizeof *run)))
        goto out_of_memory;
    if (!run->rows && !(run->rows = calloc((size_t)set->size, sizeof *run->rows)))
        goto out_of_memory;
    if (count > run->capacity) {
        /* Doubled, so that a run that is used again soon has room for whatever is fused. */
        int capacity = run->capacity ? run->capacity : TENSORS_LEAST;
        while (capacity < count)
            capacity *= 2;
        struct run_tensor *tensors = reallocarray(run->tensors, (size_t)capacity, sizeof *tensors);
        if (!tensors)
            goto out_of_memory;
        run->tensors = tensors;
        run->capacity = capacity;
    }
    run->next = NULL;
    run->set = set;
    run->description = own ? own->description : agreed->description;
    run->algorithm = decision->algorithm;
    if (agreed->absent)
        run->description.memory = MEMORY_DEVICE;
    run->count = 0;
    run->total = 0;
    return run;
out_of_memory:
    if (run) {
        run->next = set->runs.free;
        set->runs.free = run;
    }
    fail(err, HVD_ERR_NOMEM, "out of memory");
    return NULL;
}

/* The links that a run needs are wanted on all ranks when it is decided on, so that nobody waits for
 * a rank that has not come so far in the line. */
static int run_want_links(struct process_set *set, const struct run *run, struct err *err)
{
    unsigned bit = 1u << run->algorithm;
    if (set->size < 2 || algorithm_is_near(run->algorithm) || set->runs.wanted & bit)
        return HVD_OK;
    if (!set->engine->reach.directory)
        return fail(err, HVD_ERR_PROTOCOL, "nothing tells where the ranks of process set %d are",
                    set->id);
    if (!reach_place(set))
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    if (run->algorithm != ALGORITHM_TREE) /* whose peers depend on who the root is */
        set->runs.wanted |= bit;
    return set_want_data(set, set->runs.others, run_find_others(set, run), err);
}

static int run_enqueue(struct process_set *set, struct run *run, struct err *err)
{
    if (set->engine->timeline)
        trace_queued(run);
    if (run->description.memory != MEMORY_HOST && stage_queue(set, run))
        return HVD_OK;
    *set->runs.queue_end = run;
    set->runs.queue_end = &run->next;
    set->runs.queued++;
    return run_want_links(set, run, err);
}

/* The tensors one behind the other, cut without regard to where one ends. */
static int queue_chunks(struct process_set *set, const struct decision *decision, struct err *err)
{
    struct run *run = NULL;
    size_t most = DEVICE_CHUNK / dtype_size((int)decision->tensors->description.dtype);
    for (int i = 0; i < decision->count; i++) {
        const struct agreed *agreed = &decision->tensors[i];
        size_t count = count_of(agreed), offset = 0;
        do {
            if (!run && !(run = run_create(set, decision, agreed, decision->count - i, err)))
                return err->code;
            size_t room = most - run->total, left = count - offset;
            run_add_part(run, agreed->owner, offset, left < room ? left : room);
            offset += left < room ? left : room;
            if (run->total == most) {
                if (run_enqueue(set, run, err) < 0)
                    return err->code;
                run = NULL;
            }
        } while (offset < count);
    }
    return run ? run_enqueue(set, run, err) : HVD_OK;
}

/* What the devices do not do themselves, and any part of which can be done alone. */
static bool is_cut(const struct agreed *agreed)
{
    const struct description *description = &agreed->description;
    if (description->memory == MEMORY_HOST ||
        (description->memory == MEMORY_DEVICE_REDUCES && !agreed->absent))
        return false;
    return description->kind == COLLECTIVE_BROADCAST ||
           (description->kind == COLLECTIVE_ALLREDUCE && description->op != HVD_ADASUM);
}

int run_queue(struct process_set *set, const struct decision *decision, struct err *err)
{
    struct err reason;
    char label[REQUEST_LABEL];
    if (is_cut(decision->tensors))
        return queue_chunks(set, decision, err);
    struct run *run = run_create(set, decision, decision->tensors, decision->count, err);
    if (!run)
        return err->code;
    int rc = HVD_OK;
    if (run->description.kind == COLLECTIVE_ALLGATHER)
        rc = take_rows(set, run, decision->tensors, err);
    if (rc == HVD_OK && result_fits(set, run)) {
        for (int i = 0; i < decision->count; i++)
            run_add_part(run, decision->tensors[i].owner, 0, count_of(&decision->tensors[i]));
        return run_enqueue(set, run, err);
    }
    if (rc == HVD_OK) {
        fail(&reason, HVD_ERR_INVALID, "%s: the rows of all ranks do not fit into memory",
             request_label(label, COLLECTIVE_ALLGATHER, decision->tensors->name));
        complete_tensor(decision->tensors->owner, &reason);
    }
    run_release(set, run);
    return rc;
}
