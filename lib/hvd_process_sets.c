/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls of hvd.h on process sets. */
#include "lib/hvd.h"

#include "lib/device/device_load.h"
#include "lib/engine/engine.h"
#include "lib/process.h"
#include "lib/request/arguments.h"
#include "lib/request/request.h"

#include <limits.h>
#include <stdlib.h>

typedef int ask_fn(struct engine *engine, int id, struct err *err);

static int hvd_process_sets_ask(ask_fn *question, int id)
{
    struct err err;
    struct world *world = process_enter(&err);
    int answer = world ? question(world_engine(world), id, &err) : err.code;
    if (world)
        process_exit();
    return process_answer(arguments_first_set(answer, id, &err), &err);
}

int hvd_process_set_rank(int process_set)
{
    return hvd_process_sets_ask(engine_set_rank, process_set);
}

int hvd_process_set_size(int process_set)
{
    return hvd_process_sets_ask(engine_set_size, process_set);
}

int hvd_process_set_included(int process_set)
{
    return hvd_process_sets_ask(engine_set_included, process_set);
}

int hvd_remove_process_set(int process_set)
{
    struct err err;
    if (process_set == 0)
        return process_answer(
            fail(&err, HVD_ERR_INVALID, "process set 0 is the world, it cannot be removed"), &err);
    struct world *world = process_enter(&err);
    int serial = world ? engine_set_serial(world_engine(world), process_set, &err) : err.code;
    int rc = serial < 0 ? serial : engine_remove_set(world_engine(world), process_set, &err);
    if (world)
        process_exit();
    if (rc == HVD_OK)
        device_load_set_removed(process_set, serial);
    return process_answer(arguments_first_set(rc, process_set, &err), &err);
}

int hvd_add_process_set(const int *ranks, int count)
{
    struct err err;
    struct world *world = process_enter(&err);
    int id = world ? engine_add_set(world_engine(world), ranks, count, &err) : err.code;
    if (world)
        process_exit();
    return process_answer(arguments_first_ranks(id, ranks, count, &err), &err);
}

int hvd_process_sets(int *process_sets, int capacity)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int count = engine_set_ids(world_engine(world), process_sets, process_sets ? capacity : 0);
    process_exit();
    return count;
}

int hvd_process_set_ranks(int process_set, int *ranks, int capacity)
{
    struct err err;
    struct world *world = process_enter(&err);
    int size = err.code;
    if (world) {
        size =
            engine_set_ranks(world_engine(world), process_set, ranks, ranks ? capacity : 0, &err);
        process_exit();
    }
    return process_answer(arguments_first_set(size, process_set, &err), &err);
}

static int check_set(const struct hvd_ranks *set, int size, struct err *err)
{
    int *sorted = calloc(set->count > 0 ? (size_t)set->count : 1, sizeof *sorted);
    if (!sorted)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = request_ranks(sorted, set->ranks, set->count, size, err);
    free(sorted);
    return rc;
}

/* The number of sets, or -1 and `err` if one of them is not acceptable. */
static int check_sets(const struct hvd_ranks *sets, int count, int size, struct err *err)
{
    for (int i = 0; i < count; i++)
        if (check_set(&sets[i], size, err) < 0) {
            fail_context(err, "process set %d", i + 1);
            return -1;
        }
    return count;
}

static int compare_counts(const int *counts, int size, struct err *err)
{
    for (int rank = 0; rank < size; rank++) {
        if (counts[rank] < 0)
            return fail(err, HVD_ERR_MISMATCH, "process sets: those of rank %d are not acceptable",
                        rank);
        if (counts[rank] != counts[0])
            return fail(err, HVD_ERR_MISMATCH,
                        "process sets: rank 0 gives %d of them, rank %d gives %d", counts[0], rank,
                        counts[rank]);
    }
    return HVD_OK;
}

/* Every rank must submit the same number of valid sets, otherwise some would wait for ever. */
static int agree_on_count(const struct hvd_ranks *sets, int count)
{
    struct err own = { .code = HVD_OK }, err = { .code = HVD_OK };
    int size = hvd_size();
    int *counts = size > 0 ? calloc((size_t)size, sizeof *counts) : NULL;
    if (!counts)
        return process_answer(fail(&err, HVD_ERR_NOMEM, "out of memory"), &err);
    int good = check_sets(sets, count, size, &own);
    int rc = hvd_allgather("hvd_init_process_sets", &good, counts, 1, HVD_INT32);
    if (rc == HVD_OK)
        rc = own.code < 0 ? process_answer(own.code, &own)
                          : process_answer(compare_counts(counts, size, &err), &err);
    free(counts);
    return rc;
}

int hvd_init_process_sets(const struct hvd_ranks *sets, int count)
{
    struct err err;
    if (count < 0)
        return process_answer(
            fail(&err, HVD_ERR_INVALID, "process sets: there cannot be %d", count), &err);
    if (count > 0 && !sets)
        return process_answer(
            fail(&err, HVD_ERR_INVALID, "process sets: NULL instead of %d of them", count), &err);
    int rc = hvd_init();
    if (rc == HVD_OK)
        rc = agree_on_count(sets, count);
    for (int i = 0; rc >= 0 && i < count; i++)
        rc = hvd_add_process_set(sets[i].ranks, sets[i].count);
    if (rc < 0 && check_sets(sets, count, INT_MAX, &err) < 0 && err.code == HVD_ERR_INVALID)
        return process_answer(err.code, &err);
    return rc < 0 ? rc : HVD_OK;
}
