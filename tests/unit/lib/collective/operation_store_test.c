/* SPDX-License-Identifier: Apache-2.0 */
/* Whom operations talk to, and the memory that they are made in: it is used again, and may be
 * short. Linked with -Wl,--wrap=aligned_alloc. */
#include "lib/collective/algorithm.h"
#include "lib/collective/operation_impl.h"
#include "tests/support/operation_world.h"
#include "tests/support/unit.h"

#include <string.h>

static struct err err;

/* What operations allocate is counted; one can be made to fail (--wrap). */
static int allocations, failing;
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return ++allocations == failing ? NULL : __real_aligned_alloc(alignment, size);
}

enum { SIZE_MOST = 12, KINDS = OPERATION_ADASUM + 1, PAIRS = ALGORITHMS * KINDS };

/* On hosts of three, the last of which may have fewer. */
static bool peers_of(bool is_peer[SIZE_MOST], int algorithm, int rank, int size, int root)
{
    int peers[SIZE_MOST], hosts[SIZE_MOST];
    for (int i = 0; i < size; i++)
        hosts[i] = i / 3;
    struct placing *placing = placing_create(hosts, size, SIZE_MOST);
    const struct operation_task task = {
        .algorithm = algorithm, .rank = rank, .size = size, .root = root, .placing = placing
    };
    int count = operation_peers(&task, peers);
    placing_destroy(placing);
    memset(is_peer, 0, SIZE_MOST);
    for (int i = 0; i < count; i++) {
        if (peers[i] < 0 || peers[i] >= size || peers[i] == rank || is_peer[peers[i]])
            return false;
        is_peer[peers[i]] = true;
    }
    return true;
}

START_TEST(peers_are_others_each_once_and_know_each_other)
{
    bool is_peer[SIZE_MOST][SIZE_MOST];
    for (int size = 2; size <= SIZE_MOST; size++)
        for (int root = 0; root < size; root++) {
            for (int rank = 0; rank < size; rank++)
                ck_assert(peers_of(is_peer[rank], _i, rank, size, root));
            for (int rank = 0; rank < size * size; rank++)
                ck_assert(is_peer[rank / size][rank % size] == is_peer[rank % size][rank / size]);
        }
}
END_TEST

START_TEST(only_the_ring_is_near)
{
    bool is_peer[SIZE_MOST];
    ck_assert(algorithm_is_near((enum algorithm)_i) == (_i == ALGORITHM_RING));
    peers_of(is_peer, _i, 0, 12, 0);
    bool near = true;
    for (int rank = 2; rank < 11; rank++)
        near &= !is_peer[rank];
    ck_assert(near == (_i == ALGORITHM_RING));
}
END_TEST

static void *no_place(void *arg, const int64_t *rows)
{
    (void)arg;
    (void)rows;
    return NULL;
}

/* A task of a kind for 3 ranks, all with the same memory. */
static struct operation_task some_task(int algorithm, enum operation_kind kind)
{
    static const int64_t splits[] = { 10, 10, 10 };
    static const int host[] = { 0, 0, 1 }, index[] = { 0, 1, 0 }, first[] = { 0, 2, 3 },
                     members[] = { 0, 1, 2 };
    static const struct placing placing = { 3, 2, 2, host, index, first, members };
    static float input[30], output[30];
    return (struct operation_task){
        .kind = kind,
        .algorithm = algorithm,
        .placing = &placing,
        .size = 3,
        .dtype = HVD_FLOAT32,
        .op = HVD_SUM,
        .input = input,
        .output = output,
        .count = 30,
        .row_count = 1,
        .rows = 30,
        .splits = splits,
        .place = no_place,
    };
}

/* Does the pair of this number exist? */
static bool exists(int pair)
{
    return algorithm_can(pair / KINDS, (enum operation_kind)(pair % KINDS));
}

START_TEST(the_second_operation_of_a_kind_does_not_allocate)
{
    struct operation_task task = some_task(_i / KINDS, (enum operation_kind)(_i % KINDS));
    static _Alignas(64) unsigned char staging[OPERATION_STAGING];
    task.staging = staging;
    for (int round = 0; round < 3 && exists(_i); round++) {
        int before = allocations;
        struct operation *operation = operation_start(world_stores[0], &task, &err);
        ck_assert_ptr_nonnull(operation);
        ck_assert(round == 0 || allocations == before);
        operation_fini(world_stores[0], operation);
    }
}
END_TEST

START_TEST(without_memory_nothing_starts_and_nothing_leaks)
{
    struct operation_task task = some_task(_i / KINDS, (enum operation_kind)(_i % KINDS));
    struct operation *operation = NULL;
    for (int nth = 1; exists(_i) && !operation && nth < 10; nth++) {
        struct operation_store *store = operation_store_create();
        err.code = HVD_OK;
        failing = allocations + nth;
        operation = operation_start(store, &task, &err);
        ck_assert(operation ? nth > 1 : err.code == HVD_ERR_NOMEM);
        operation_fini(store, operation);
        operation_store_destroy(store);
    }
    ck_assert(operation || !exists(_i));
}
END_TEST

/* Only data that may come before it is wanted needs memory beside that of the operation itself. */
START_TEST(a_rank_of_a_tree_with_one_child_or_none_allocates_once)
{
    struct operation_task task = some_task(ALGORITHM_TREE, OPERATION_ALLREDUCE);
    static const struct {
        int rank, size, allocations;
    } cases[] = { { 2, 3, 1 }, { 0, 2, 1 }, { 1, 2, 1 }, { 0, 3, 2 } };
    struct operation_store *store = operation_store_create();
    task.rank = cases[_i].rank;
    task.size = cases[_i].size;
    allocations = 0;
    struct operation *operation = operation_start(store, &task, &err);
    ck_assert_ptr_nonnull(operation);
    ck_assert_int_eq(allocations, cases[_i].allocations);
    operation_fini(store, operation);
    operation_store_destroy(store);
}
END_TEST

START_TEST(memory_is_used_again)
{
    struct operation_store *store = world_stores[0];
    void *small = operation_alloc(store, 100), *large = operation_alloc(store, 100000);
    ck_assert_uint_eq((uintptr_t)small % OPERATION_ALIGNMENT, 0);
    operation_free(store, large);
    operation_free(store, small);
    operation_free(store, NULL);
    ck_assert_ptr_eq(operation_alloc(store, 99999), large);
    ck_assert_ptr_eq(operation_alloc(store, 128), small);
    operation_free(store, large);
    void *other = operation_alloc(store, 5000);
    ck_assert_ptr_ne(other, large); /* which would be a waste */
    operation_free(store, small);
    operation_free(store, other);
    ck_assert_ptr_null(operation_alloc(store, SIZE_MAX - 10));
    operation_store_destroy(NULL);
}
END_TEST

START_TEST(not_everything_is_kept)
{
    static void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = operation_alloc(world_stores[0], 2 << 20);
    for (int i = 0; i < 100; i++)
        operation_free(world_stores[0], blocks[i]);
    operation_free(world_stores[0], operation_alloc(world_stores[0], 100 << 20));
}
END_TEST

int main(void)
{
    world_choose_seed();
    Suite *suite = suite_create("operation_store");
    TCase *tcase = tcase_create("operation_store");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, world_set_up, world_tear_down);
    tcase_add_loop_test(tcase, peers_are_others_each_once_and_know_each_other, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, only_the_ring_is_near, 0, ALGORITHMS);
    tcase_add_loop_test(tcase, the_second_operation_of_a_kind_does_not_allocate, 0, PAIRS);
    tcase_add_loop_test(tcase, without_memory_nothing_starts_and_nothing_leaks, 0, PAIRS);
    tcase_add_loop_test(tcase, a_rank_of_a_tree_with_one_child_or_none_allocates_once, 0, 4);
    tcase_add_test(tcase, memory_is_used_again);
    tcase_add_test(tcase, not_everything_is_kept);
    return unit_run(suite);
}
