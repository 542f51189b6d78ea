/* SPDX-License-Identifier: Apache-2.0 */
/* Process sets: given at the start and added later, overlapping and disjoint, several at once; one
 * that waits for a rank does not hold up another. */
#include "tests/support/collectives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_MAX = 64, COUNT = 1000 };

struct set {
    int id;
    int ranks[RANKS_MAX], size;
};

static int index_of(const struct set *set, int rank)
{
    for (int i = 0; i < set->size; i++)
        if (set->ranks[i] == rank)
            return i;
    return -1;
}

/* Every `step`th rank from `first` on, ascending. */
static struct set every(int first, int step)
{
    struct set set = { .id = -1 };
    for (int rank = first; rank < world_size && set.size < RANKS_MAX; rank += step)
        set.ranks[set.size++] = rank;
    return set;
}

static struct set range(int first, int end)
{
    struct set set = { .id = -1 };
    for (int rank = first; rank < end; rank++)
        set.ranks[set.size++] = rank;
    return set;
}

/* Ranks may be given in any order: here descending on every other rank. */
static void add(struct set *set)
{
    int given[RANKS_MAX];
    for (int i = 0; i < set->size; i++)
        given[i] = set->ranks[my_rank % 2 ? set->size - 1 - i : i];
    set->id = hvd_add_process_set(given, set->size);
    require(set->id > 0, "hvd_add_process_set of %d ranks from %d on: %d", set->size, set->ranks[0],
            set->id);
}

static void drop(const struct set *set)
{
    int rc = hvd_remove_process_set(set->id);
    require(rc == HVD_OK, "hvd_remove_process_set(%d): %s", set->id, hvd_strstatus(rc));
}

static void check_queries(const struct set *set)
{
    int ranks[RANKS_MAX], mine = index_of(set, my_rank);
    require(hvd_process_set_size(set->id) == set->size, "hvd_process_set_size(%d) is %d", set->id,
            hvd_process_set_size(set->id));
    require(hvd_process_set_included(set->id) == (mine >= 0), "hvd_process_set_included(%d)",
            set->id);
    require(hvd_process_set_rank(set->id) == (mine >= 0 ? mine : HVD_ERR_INVALID),
            "hvd_process_set_rank(%d) is %d", set->id, hvd_process_set_rank(set->id));
    require(hvd_process_set_ranks(set->id, ranks, RANKS_MAX) == set->size &&
                memcmp(ranks, set->ranks, (size_t)set->size * sizeof *ranks) == 0,
            "hvd_process_set_ranks(%d)", set->id);
}

static int64_t start_sum(const struct set *set, const char *name, int64_t *data, size_t count)
{
    int64_t dims[] = { (int64_t)count }, handle;
    struct hvd_options options = { .process_set = set->id };
    struct hvd_tensor tensor = {
        .name = name, .input = data, .output = data, .dtype = HVD_INT64, .ndims = 1, .dims = dims
    };
    for (size_t i = 0; i < count; i++)
        data[i] = (int64_t)i + my_rank * 100 + set->id;
    int rc = hvd_allreduce_async(&tensor, HVD_SUM, &options, &handle);
    require(rc == HVD_OK, "allreduce in set %d: %s", set->id, hvd_strstatus(rc));
    return handle;
}

static void finish_sum(const struct set *set, int64_t handle, const int64_t *data, size_t count)
{
    int64_t ranks = 0;
    for (int i = 0; i < set->size; i++)
        ranks += set->ranks[i];
    finish(handle, NULL, "allreduce in a set");
    for (size_t i = 0; i < count; i++)
        require(data[i] == ((int64_t)i + set->id) * set->size + ranks * 100,
                "sum in set %d: element %zu is %lld", set->id, i, (long long)data[i]);
}

static void check_sum(const struct set *set)
{
    static int64_t data[COUNT];
    if (index_of(set, my_rank) >= 0)
        finish_sum(set, start_sum(set, "sum", data, COUNT), data, COUNT);
}

/* Each kind in a set; roots are ranks of the world. */
static void check_kinds(const struct set *set)
{
    int mine = index_of(set, my_rank), last = set->ranks[set->size - 1];
    int64_t handle, dims[] = { set->size }, all[RANKS_MAX], data[RANKS_MAX];
    struct hvd_options options = { .process_set = set->id };
    struct hvd_tensor tensor = { .name = "kinds",
                                 .input = data,
                                 .output = all,
                                 .output_size = sizeof all,
                                 .dtype = HVD_INT64,
                                 .ndims = 1,
                                 .dims = dims };
    struct hvd_result result;
    if (mine < 0)
        return;
    for (int i = 0; i < set->size; i++)
        all[i] = data[i] = my_rank * 100 + i;
    require(hvd_broadcast_async(&tensor, last, &options, &handle) == HVD_OK, "broadcast");
    finish(handle, NULL, "broadcast in a set");
    require(all[0] == last * 100, "broadcast in set %d gave %lld", set->id, (long long)all[0]);
    require(hvd_alltoall_async(&tensor, NULL, 0, &options, &handle) == HVD_OK, "alltoall");
    finish(handle, &result, "alltoall in a set");
    for (int i = 0; i < set->size; i++)
        require(all[i] == set->ranks[i] * 100 + mine, "alltoall in set %d", set->id);
    hvd_result_free(&result);
    dims[0] = 1;
    require(hvd_allgather_async(&tensor, &options, &handle) == HVD_OK, "allgather");
    finish(handle, NULL, "allgather in a set");
    for (int i = 0; i < set->size; i++)
        require(all[i] == set->ranks[i] * 100, "allgather in set %d", set->id);
    require(hvd_barrier_async(&options, &handle) == HVD_OK, "barrier");
    finish(handle, NULL, "barrier in a set");
}

/* One collective of the same name in each set at once, submitted in a different order on each
 * rank. */
static void check_concurrently(const struct set *sets, int count)
{
    enum { SETS_MAX = 16 };
    static int64_t data[SETS_MAX][COUNT];
    int64_t handles[SETS_MAX];
    for (int i = 0; i < count; i++) {
        int at = (i + my_rank) % count;
        if (index_of(&sets[at], my_rank) >= 0)
            handles[at] = start_sum(&sets[at], "same", data[at], COUNT);
    }
    for (int at = 0; at < count; at++)
        if (index_of(&sets[at], my_rank) >= 0)
            finish_sum(&sets[at], handles[at], data[at], COUNT);
}

/* While `waiting` waits for its last rank, all of `other` can work: the last rank submits only when
 * everybody has been through a barrier that comes after that work. */
static void check_no_blocking(const struct set *waiting, const struct set *other)
{
    static int64_t data[COUNT];
    int64_t handle = 0;
    bool waits = index_of(waiting, my_rank) >= 0;
    bool is_last = my_rank == waiting->ranks[waiting->size - 1];
    if (waits && !is_last)
        handle = start_sum(waiting, "late", data, COUNT);
    for (int i = 0; i < 20; i++)
        check_sum(other);
    require(hvd_barrier() == HVD_OK, "a barrier");
    if (is_last)
        handle = start_sum(waiting, "late", data, COUNT);
    if (waits)
        finish_sum(waiting, handle, data, COUNT);
}

static void check_static(struct set *sets, int count)
{
    struct hvd_ranks given[4];
    int ids[8], found;
    for (int i = 0; i < count; i++)
        given[i] = (struct hvd_ranks){ sets[i].ranks, sets[i].size };
    require(hvd_init_process_sets(given, count) == HVD_OK, "hvd_init_process_sets");
    found = hvd_process_sets(ids, 8);
    require(found == count + 1, "hvd_process_sets gives %d", found);
    for (int i = 0; i < count; i++) {
        sets[i].id = i + 1;
        require(ids[i + 1] == i + 1, "set %d has number %d", i, ids[i + 1]);
        check_queries(&sets[i]);
        check_sum(&sets[i]);
        check_kinds(&sets[i]);
    }
}

/* Sets of two neighbours, and all but one. */
static void check_dynamic(void)
{
    enum { SETS_MAX = 8 };
    struct set sets[SETS_MAX];
    int count = 0;
    sets[count++] = (struct set){ .id = 0 };
    sets[0] = range(0, world_size);
    sets[0].id = 0;
    for (int rank = 0; rank + 2 < world_size && count < SETS_MAX - 1; rank++) {
        sets[count] = range(rank, rank + 2);
        add(&sets[count++]);
    }
    sets[count] = range(1, world_size);
    if (sets[count].size > 2)
        add(&sets[count++]);
    for (int i = 0; i < count; i++) {
        check_queries(&sets[i]);
        check_kinds(&sets[i]);
    }
    for (int i = 0; i < 20; i++)
        check_concurrently(sets, count);
    for (int i = 1; i + 1 < count; i++) {
        check_no_blocking(&sets[i], &sets[i + 1]);
        check_no_blocking(&sets[i + 1], &sets[i]);
    }
    for (int i = 1; i < count; i++)
        drop(&sets[i]);
}

static void check_refusals(const struct set *set)
{
    int32_t data = 1;
    int64_t dims[] = { 1 }, handle;
    int ranks[] = { 0, world_size }, twice[] = { 0, 0 };
    struct hvd_options options = { .process_set = set->id };
    struct hvd_tensor tensor = { .name = "refused",
                                 .input = &data,
                                 .output = &data,
                                 .dtype = HVD_INT32,
                                 .ndims = 1,
                                 .dims = dims };
    require(hvd_add_process_set(set->ranks, set->size) == HVD_ERR_INVALID, "a set that exists");
    require(hvd_add_process_set(ranks, 2) == HVD_ERR_INVALID, "a rank that does not exist");
    require(hvd_add_process_set(twice, 2) == HVD_ERR_INVALID, "a rank given twice");
    require(hvd_add_process_set(NULL, 1) == HVD_ERR_INVALID, "NULL for ranks");
    require(hvd_add_process_set(ranks, 0) == HVD_ERR_INVALID, "a set of nobody");
    require(hvd_remove_process_set(0) == HVD_ERR_INVALID, "the world cannot be removed");
    require(hvd_remove_process_set(99) == HVD_ERR_INVALID, "set 99 cannot be removed");
    require(hvd_process_set_size(99) == HVD_ERR_INVALID, "set 99 has no size");
    require(hvd_process_set_size(-1) == HVD_ERR_INVALID, "set -1 has no size");
    if (index_of(set, my_rank) < 0) {
        int rc = hvd_allreduce_async(&tensor, HVD_SUM, &options, &handle);
        require(rc == HVD_ERR_INVALID, "a rank outside of set %d: %s", set->id, hvd_strstatus(rc));
    }
    options.process_set = 99;
    require(hvd_allreduce_async(&tensor, HVD_SUM, &options, &handle) == HVD_ERR_INVALID,
            "allreduce in set 99");
    require(strstr(hvd_last_error(), "99") && strstr(hvd_last_error(), "refused"),
            "the text names set and tensor");
}

/* Rank 0 wants another set, or another one removed. Two ranks have no other sets. */
static void check_disagreement(const struct set *first, const struct set *second)
{
    struct set mine = my_rank == 0 ? range(0, 2) : range(1, 3);
    if (world_size > 2) {
        int rc = hvd_add_process_set(mine.ranks, mine.size);
        require(rc == HVD_ERR_MISMATCH, "two different sets: %s", hvd_strstatus(rc));
        require(strstr(hvd_last_error(), "rank"), "the text names the ranks");
    }
    int rc = hvd_remove_process_set(my_rank == 0 ? first->id : second->id);
    require(rc == HVD_ERR_MISMATCH, "two different sets to remove: %s", hvd_strstatus(rc));
    check_world_works("ranks that disagree about sets");
    check_sum(first);
    check_sum(second);
}

/* Of a set that is no more nothing is left, and it can be made again. */
static void check_again(struct set *set)
{
    int old = set->id;
    drop(set);
    require(hvd_process_set_size(old) == HVD_ERR_INVALID, "the size of a set that was removed");
    require(hvd_remove_process_set(old) == HVD_ERR_INVALID, "removing a set twice");
    add(set);
    check_queries(set);
    check_sum(set);
}

void test_sets(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    const char *size = getenv("HOROVOD_SIZE");
    my_rank = getenv("HOROVOD_RANK") ? atoi(getenv("HOROVOD_RANK")) : 0;
    world_size = size ? atoi(size) : 1;
    struct set sets[] = { every(0, 2), every(1, 2) };
    if (world_size == 1) { /* its only set is the world */
        join_world();
        require(hvd_add_process_set(sets[0].ranks, 1) == HVD_ERR_INVALID, "the world as a set");
        check_world_works("refusing a set");
        return;
    }
    check_static(sets, 2);
    check_concurrently(sets, 2);
    check_no_blocking(&sets[0], &sets[1]);
    check_refusals(&sets[0]);
    check_dynamic();
    check_disagreement(&sets[0], &sets[1]);
    check_again(&sets[0]);
    check_world_works("process sets");
}
