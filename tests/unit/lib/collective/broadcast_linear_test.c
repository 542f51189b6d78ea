/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast from the root to each other rank: whose peers are whose, what comes out, and what is
 * refused. How bytes move is random; the seed is printed. */
#include "lib/collective/broadcast_linear.h"
#include "tests/support/elements.h"
#include "tests/support/operation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t seed;
static struct operation_net net;
static bool has_no_memory;

void *__real_operation_alloc(struct operation_store *store, size_t size);
void *__wrap_operation_alloc(struct operation_store *store, size_t size);

void *__wrap_operation_alloc(struct operation_store *store, size_t size)
{
    return has_no_memory ? NULL : __real_operation_alloc(store, size);
}

static void setup(void)
{
    operation_net_init(&net, seed);
}

static void teardown(void)
{
    operation_net_fini(&net);
}

START_TEST(the_root_is_the_only_peer_of_the_others)
{
    int peers[NET_RANKS_MAX];
    for (int root = 0; root < _i; root++)
        for (int rank = 0; rank < _i; rank++) {
            int count = broadcast_linear_peers(rank, _i, root, peers);
            ck_assert_int_eq(count, rank == root ? _i - 1 : 1);
            for (int i = 0; i < count; i++)
                ck_assert_int_eq(peers[i], rank != root ? root : i < root ? i : i + 1);
        }
}
END_TEST

static void check_broadcast(int size, int root, enum hvd_dtype dtype, size_t count, bool is_shared)
{
    size_t nbytes = count * hvd_dtype_size(dtype);
    unsigned char *expected = malloc(nbytes + 1), *outputs[NET_RANKS_MAX],
                  *memory = is_shared ? aligned_alloc(64, OPERATION_SHARED) : NULL;
    for (size_t i = 0; i < nbytes; i++)
        expected[i] = (unsigned char)next_random(&net.random);
    for (int rank = 0; rank < size; rank++) {
        outputs[rank] = malloc(nbytes + 1);
        memset(outputs[rank], rank, nbytes + 1);
        if (rank == root)
            memcpy(outputs[rank], expected, nbytes);
        net.tasks[rank] = (struct operation_task){ .kind = OPERATION_BROADCAST,
                                                   .root = root,
                                                   .dtype = dtype,
                                                   .output = outputs[rank],
                                                   .count = count,
                                                   .shared = rank == root ? memory : NULL,
                                                   .shared_far = root % 2 };
    }
    net.step = nbytes / 3 + 1 + random_less_than(&net.random, nbytes + 1);
    operation_net_run(&net, size, broadcast_linear_start);
    for (int rank = 0; rank < size; rank++) {
        ck_assert(memcmp(outputs[rank], expected, nbytes) == 0);
        ck_assert_int_eq(outputs[rank][nbytes], rank);
        free(outputs[rank]);
    }
    free(expected);
    free(memory);
}

START_TEST(what_the_root_has_comes_to_all)
{
    static const size_t counts[] = { 0, 1, 5, 1000, 20000, 70001 };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int root = 0; root < _i; root++)
            check_broadcast(_i, root, i % 2 ? HVD_INT8 : HVD_FLOAT64, counts[i], i % 3);
}
END_TEST

/* Where what is shared is used once, and around. */
START_TEST(large_vectors_go_around)
{
    static const size_t counts[] = { OPERATION_SHARED - 1, OPERATION_SHARED, OPERATION_SHARED + 1,
                                     3 * OPERATION_SHARED + 77777 };
    for (int root = 0; root < 4; root++)
        check_broadcast(4, root, HVD_UINT8, counts[_i], true);
}
END_TEST

static struct operation *start(int rank, int root, void *output, size_t count)
{
    struct err err;
    const struct operation_task task = { .kind = OPERATION_BROADCAST,
                                         .rank = rank,
                                         .size = 3,
                                         .root = root,
                                         .dtype = HVD_UINT8,
                                         .output = output,
                                         .count = count };
    struct operation *operation = broadcast_linear_start(net.stores[rank], &task, &err);
    if (!operation)
        ck_assert_int_eq(err.code, HVD_ERR_NOMEM);
    return operation;
}

START_TEST(what_nobody_awaits_is_refused)
{
    unsigned char output[10];
    struct err err;
    size_t nbytes;
    struct operation *root = start(1, 1, output, 10), *other = start(2, 1, output, 10);
    ck_assert_ptr_null(root->type->space(root, 2, &nbytes));
    ck_assert_int_eq(root->type->received(root, 2, 1, &err), HVD_ERR_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(err.text, "from rank 2"));
    ck_assert_ptr_null(other->type->output(other, 1, 0, &nbytes));
    ck_assert_ptr_null(other->type->space(other, 0, &nbytes));
    ck_assert_int_eq(other->type->received(other, 0, 1, &err), HVD_ERR_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(err.text, "rank 0 of the set sends 1 bytes where 0 fit"));
    ck_assert_int_eq(other->type->received(other, 1, 11, &err), HVD_ERR_PROTOCOL);
    ck_assert_ptr_nonnull(strstr(err.text, "rank 1 of the set sends 11 bytes where 10 fit"));
    ck_assert(!other->type->done(other));
    operation_fini(net.stores[1], root);
    operation_fini(net.stores[2], other);
}
END_TEST

START_TEST(without_memory_it_does_not_start)
{
    unsigned char output[10];
    has_no_memory = true;
    ck_assert_ptr_null(start(0, 0, output, 10));
    ck_assert_ptr_null(start(1, 0, output, 10));
    has_no_memory = false;
}
END_TEST

int main(void)
{
    seed = (uint64_t)time(NULL);
    printf("# BROADCAST_LINEAR_TEST_SEED=%llu\n", (unsigned long long)seed);
    Suite *suite = suite_create("broadcast_linear");
    TCase *tests = tcase_create("broadcast_linear");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_loop_test(tests, the_root_is_the_only_peer_of_the_others, 2, 9);
    tcase_add_loop_test(tests, what_the_root_has_comes_to_all, 2, 7);
    tcase_add_loop_test(tests, large_vectors_go_around, 0, 4);
    tcase_add_test(tests, what_nobody_awaits_is_refused);
    tcase_add_test(tests, without_memory_it_does_not_start);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
