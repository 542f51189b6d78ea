/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast along a tree: who is below whom, and what comes out. How bytes move is random; the seed
 * is printed. */
#include "lib/collective/broadcast_tree.h"
#include "tests/support/elements.h"
#include "tests/support/operation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SIZE_TESTED = 40 };

static uint64_t seed;
static struct operation_net net;

static void setup(void)
{
    operation_net_init(&net, seed);
}

static void teardown(void)
{
    operation_net_fini(&net);
}

/* ---- who ---- */

START_TEST(every_rank_but_the_root_has_one_parent)
{
    for (int root = 0; root < _i; root++) {
        int times[SIZE_TESTED] = { 0 };
        for (int rank = 0; rank < _i; rank++) {
            int children[TREE_CHILDREN_MOST];
            int count = tree_children(rank, _i, root, children);
            for (int i = 0; i < count; i++) {
                times[children[i]]++;
                ck_assert_int_eq(tree_parent(children[i], _i, root), rank);
            }
        }
        for (int rank = 0; rank < _i; rank++)
            ck_assert_int_eq(times[rank], rank != root);
        ck_assert_int_eq(tree_parent(root, _i, root), -1);
    }
}
END_TEST

/* With one step for each that is given to. */
static int last_step(int rank, int size, int root, int step)
{
    int children[TREE_CHILDREN_MOST], last = step;
    int count = tree_children(rank, size, root, children);
    for (int i = 0; i < count; i++) {
        int below = last_step(children[i], size, root, step + i + 1);
        last = below > last ? below : last;
    }
    return last;
}

START_TEST(all_have_it_after_log2_steps)
{
    int steps = 0;
    while (1 << steps < _i)
        steps++;
    for (int root = 0; root < _i; root++)
        ck_assert_int_eq(last_step(root, _i, root, 0), steps);
}
END_TEST

START_TEST(peers_are_the_parent_and_the_children)
{
    for (int root = 0; root < _i; root++)
        for (int rank = 0; rank < _i; rank++) {
            int peers[SIZE_TESTED], children[TREE_CHILDREN_MOST];
            int count = tree_peers(rank, _i, root, peers), first = rank != root;
            ck_assert_int_eq(count - first, tree_children(rank, _i, root, children));
            if (first)
                ck_assert_int_eq(peers[0], tree_parent(rank, _i, root));
            for (int i = first; i < count; i++)
                ck_assert_int_eq(peers[i], children[i - first]);
        }
}
END_TEST

START_TEST(the_example_is_as_drawn)
{
    static const struct {
        int count, children[3];
    } drawn[] = { { 3, { 4, 2, 1 } }, { 0, { 0 } }, { 1, { 3 } }, { 0, { 0 } },
                  { 2, { 6, 5 } },    { 0, { 0 } }, { 1, { 7 } }, { 0, { 0 } } };
    for (int root = 0; root < 8; root++)
        for (int distance = 0; distance < 8; distance++) {
            int children[TREE_CHILDREN_MOST];
            int count = tree_children((root + distance) % 8, 8, root, children);
            ck_assert_int_eq(count, drawn[distance].count);
            for (int i = 0; i < count; i++)
                ck_assert_int_eq(children[i], (root + drawn[distance].children[i]) % 8);
        }
}
END_TEST

/* ---- what ---- */

static void check_broadcast(int size, int root, enum hvd_dtype dtype, size_t count)
{
    size_t nbytes = count * hvd_dtype_size(dtype);
    unsigned char *expected = malloc(nbytes), *outputs[NET_RANKS_MAX];
    for (size_t i = 0; i < nbytes; i++)
        expected[i] = (unsigned char)next_random(&net.random);
    for (int rank = 0; rank < size; rank++) {
        outputs[rank] = malloc(nbytes);
        if (nbytes > 0)
            memset(outputs[rank], rank, nbytes);
        if (rank == root && nbytes > 0)
            memcpy(outputs[rank], expected, nbytes);
        net.tasks[rank] = (struct operation_task){ .kind = OPERATION_BROADCAST,
                                                   .root = root,
                                                   .dtype = dtype,
                                                   .output = outputs[rank],
                                                   .count = count };
    }
    net.step = nbytes / 3 + 1 + random_less_than(&net.random, nbytes + 1);
    operation_net_run(&net, size, broadcast_tree_start);
    for (int rank = 0; rank < size; rank++) {
        ck_assert(nbytes == 0 || memcmp(outputs[rank], expected, nbytes) == 0);
        free(outputs[rank]);
    }
    free(expected);
}

START_TEST(what_the_root_has_comes_to_all)
{
    static const size_t counts[] = { 0, 1, 2, 7, 289, 4099 };
    for (int root = 0; root < _i; root++)
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            check_broadcast(_i, root, i % 2 ? HVD_UINT8 : HVD_FLOAT64, counts[i]);
}
END_TEST

START_TEST(large_vectors_come_in_pieces)
{
    check_broadcast(7, _i, HVD_FLOAT32, 300007);
}
END_TEST

/* What has come is passed on before the rest has. */
START_TEST(pieces_are_passed_on_at_once)
{
    enum { NBYTES = 1 << 20, PIECE = 100000 };
    static unsigned char output[NBYTES], staging[OPERATION_STAGING];
    struct err err;
    size_t nbytes;
    struct operation_store *store = operation_store_create();
    const struct operation_task task = { .kind = OPERATION_BROADCAST,
                                         .rank = 2,
                                         .size = 4,
                                         .dtype = HVD_UINT8,
                                         .output = output,
                                         .count = NBYTES,
                                         .staging = staging };
    struct operation *operation = broadcast_tree_start(store, &task, &err);
    ck_assert_ptr_null(operation->type->output(operation, 3, 0, &nbytes));
    ck_assert_ptr_eq(operation->type->space(operation, 0, &nbytes), output);
    ck_assert_uint_eq(nbytes, NBYTES);
    ck_assert_int_eq(operation->type->received(operation, 0, PIECE, &err), HVD_OK);
    ck_assert_ptr_eq(operation->type->output(operation, 3, 0, &nbytes), output);
    ck_assert_uint_eq(nbytes, PIECE);
    ck_assert_ptr_null(operation->type->output(operation, 0, 0, &nbytes));
    ck_assert_ptr_null(operation->type->output(operation, 1, 0, &nbytes));
    ck_assert(!operation->type->done(operation));
    operation_fini(store, operation);
    operation_store_destroy(store);
}
END_TEST

int main(void)
{
    seed = (uint64_t)time(NULL);
    printf("# BROADCAST_TREE_TEST_SEED=%llu\n", (unsigned long long)seed);
    Suite *suite = suite_create("broadcast_tree");
    TCase *who = tcase_create("who"), *what = tcase_create("what");
    tcase_add_loop_test(who, every_rank_but_the_root_has_one_parent, 1, SIZE_TESTED);
    tcase_add_loop_test(who, all_have_it_after_log2_steps, 1, SIZE_TESTED);
    tcase_add_loop_test(who, peers_are_the_parent_and_the_children, 1, SIZE_TESTED);
    tcase_add_test(who, the_example_is_as_drawn);
    tcase_add_checked_fixture(what, setup, teardown);
    tcase_add_loop_test(what, what_the_root_has_comes_to_all, 2, 12);
    tcase_add_loop_test(what, large_vectors_come_in_pieces, 0, 7);
    tcase_add_test(what, pieces_are_passed_on_at_once);
    suite_add_tcase(suite, who);
    suite_add_tcase(suite, what);
    return unit_run(suite);
}
