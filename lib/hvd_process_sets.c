/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls (hvd.h) on process sets. */
#include "lib/hvd.h"

#include "lib/engine/engine.h"
#include "lib/process.h"

#include <stdlib.h>

typedef int ask_fn(struct engine *engine, int id, struct err *err);

static int ask(ask_fn *question, int id)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int answer = question(world_engine(world), id, &err);
    process_exit();
    return process_answer(answer, &err);
}

int hvd_process_set_rank(int process_set)
{
    return ask(engine_set_rank, process_set);
}

int hvd_process_set_size(int process_set)
{
    return ask(engine_set_size, process_set);
}

int hvd_process_set_included(int process_set)
{
    return ask(engine_set_included, process_set);
}

int hvd_remove_process_set(int process_set)
{
    return ask(engine_remove_set, process_set);
}

int hvd_add_process_set(const int *ranks, int count)
{
    struct err err;
    struct world *world = process_enter(&err);
    if (!world)
        return process_answer(err.code, &err);
    int id = engine_add_set(world_engine(world), ranks, count, &err);
    process_exit();
    return process_answer(id, &err);
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
    if (!world)
        return process_answer(err.code, &err);
    int size =
        engine_set_ranks(world_engine(world), process_set, ranks, ranks ? capacity : 0, &err);
    process_exit();
    return process_answer(size, &err);
}

/* Every rank must come with as many sets, or some would wait for ever. */
static int agree_on_count(int count)
{
    struct err err;
    int size = hvd_size();
    int *counts = size > 0 ? calloc((size_t)size, sizeof *counts) : NULL;
    if (!counts)
        return process_answer(fail(&err, HVD_ERR_NOMEM, "out of memory"), &err);
    int rc = hvd_allgather("hvd_init_process_sets", &count, counts, 1, HVD_INT32);
    for (int rank = 1; rc == HVD_OK && rank < size; rank++)
        if (counts[rank] != counts[0])
            rc = process_answer(fail(&err, HVD_ERR_MISMATCH,
                                     "process sets: rank 0 gives %d of them, rank %d gives %d",
                                     counts[0], rank, counts[rank]),
                                &err);
    free(counts);
    return rc;
}

int hvd_init_process_sets(const struct hvd_ranks *sets, int count)
{
    struct err err;
    if (count < 0 || (count > 0 && !sets))
        return process_answer(fail(&err, HVD_ERR_INVALID,
                                   "process sets: %d of them at %s, an array is expected", count,
                                   sets ? "an address" : "NULL"),
                              &err);
    int rc = hvd_init();
    if (rc == HVD_OK)
        rc = agree_on_count(count);
    for (int i = 0; rc >= 0 && i < count; i++)
        rc = hvd_add_process_set(sets[i].ranks, sets[i].count);
    return rc < 0 ? rc : HVD_OK;
}
