/* SPDX-License-Identifier: Apache-2.0 */
/* The root chooses the algorithm of what is run, and all ranks hear of it: whatever way a name is
 * told, and whoever has joined. */
#include "lib/collective/piece.h"
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

static struct net net;

/* What the root was asked last. */
static struct {
    int times, count;
    enum operation_kind kind;
    size_t nbytes;
    void *owner;
} asked;

/* Direct from 100 000 bytes on, below that halving-doubling, the only way for the rest. */
static enum algorithm choose_algorithm(enum operation_kind kind, size_t nbytes)
{
    switch (kind) {
    case OPERATION_ALLREDUCE:
        return nbytes < 100000 ? ALGORITHM_HALVING_DOUBLING : ALGORITHM_DIRECT;
    case OPERATION_BROADCAST:
        return ALGORITHM_TREE;
    case OPERATION_ALLTOALL:
        return ALGORITHM_PAIRWISE;
    case OPERATION_ADASUM:
        return ALGORITHM_ADASUM;
    default:
        return ALGORITHM_RING;
    }
}

/* Each time another piece. */
static size_t piece_of(int times)
{
    return (size_t)PIECE_LEAST << times % 5;
}

static struct algorithm_choice choose(void *arg, const struct negotiation_work *work)
{
    ck_assert_ptr_eq(arg, &net);
    asked.times++;
    asked.count = work->count;
    asked.kind = description_operation(work->first);
    asked.nbytes = work->nbytes;
    asked.owner = work->owner;
    return (struct algorithm_choice){ choose_algorithm(asked.kind, work->nbytes),
                                      piece_of(asked.times) };
}

/* Every rank has somebody; but only the root's is asked. */
static void start(int size)
{
    net_init(&net, size, &net_defaults, 1);
    memset(&asked, 0, sizeof asked);
    for (int i = 0; i < size; i++)
        negotiation_choose_with(net.ranks[i].negotiation, choose, &net);
}

static struct offer tensor(const char *name, enum collective_kind kind, int64_t count)
{
    return (struct offer){ .name = name, .description = net_description(kind, count) };
}

static void submit_from(int first, const struct offer *offer)
{
    for (int i = first; i < net.size; i++)
        net_submit(&net, i, offer);
}

static void check_piece(size_t piece)
{
    for (int i = 0; i < net.size; i++)
        ck_assert_uint_eq(net.seen[i].choice.piece, piece);
}

/* All ranks have seen it since. */
static void check_chosen(const char *name, enum algorithm algorithm)
{
    net_check_one(&net, DECISION_BATCH, name);
    for (int i = 0; i < net.size; i++)
        ck_assert_int_eq(net.seen[i].choice.algorithm, algorithm);
}

START_TEST(all_ranks_hear_what_the_root_has_chosen)
{
    static const struct {
        enum collective_kind kind;
        enum hvd_op op;
        int64_t count;
        enum operation_kind asked;
        enum algorithm chosen;
    } rows[] = {
        { COLLECTIVE_ALLREDUCE, HVD_SUM, 20000, OPERATION_ALLREDUCE, ALGORITHM_HALVING_DOUBLING },
        { COLLECTIVE_ALLREDUCE, HVD_SUM, 30000, OPERATION_ALLREDUCE, ALGORITHM_DIRECT },
        { COLLECTIVE_ALLREDUCE, HVD_ADASUM, 20000, OPERATION_ADASUM, ALGORITHM_ADASUM },
        { COLLECTIVE_BROADCAST, HVD_AVERAGE, 20000, OPERATION_BROADCAST, ALGORITHM_TREE },
        { COLLECTIVE_REDUCESCATTER, HVD_SUM, 20000, OPERATION_REDUCESCATTER, ALGORITHM_RING },
        { COLLECTIVE_ALLTOALL, HVD_AVERAGE, 20000, OPERATION_ALLTOALL, ALGORITHM_PAIRWISE },
    };
    start(_i);
    /* Twice: by name, and by the bit of its slot. */
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        size_t at = i / 2;
        char name[20];
        snprintf(name, sizeof name, "row%zu", at);
        struct offer offer = tensor(name, rows[at].kind, rows[at].count);
        offer.description.op = rows[at].op;
        submit_from(0, &offer);
        net_complete(&net);
        check_chosen(name, rows[at].chosen);
        check_piece(piece_of(asked.times));
        ck_assert_int_eq(asked.count, 1);
        ck_assert_ptr_eq(asked.owner, net.seen[0].owner);
        ck_assert_uint_eq((size_t)asked.times, i + 1);
        ck_assert_int_eq(asked.kind, rows[at].asked);
        bool known = rows[at].kind != COLLECTIVE_ALLTOALL;
        ck_assert_msg(!known || asked.nbytes == (size_t)rows[at].count * 4, "%s: %zu bytes", name,
                      asked.nbytes);
    }
    net_fini(&net);
}
END_TEST

START_TEST(what_is_fused_counts_together)
{
    struct offer offers[3];
    static const char *const names[] = { "a", "b", "c" };
    start(_i);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++) {
            offers[i] = tensor(names[i], COLLECTIVE_ALLREDUCE, 10000);
            offers[i].description.op = HVD_SUM;
            offers[i].description.group = round ? 7 : 0;
            offers[i].description.group_size = round ? 3 : 0;
            submit_from(1, &offers[i]);
        }
        for (int i = 0; i < 3; i++)
            net_submit(&net, 0, &offers[i]);
        net_complete(&net);
        check_chosen("a", ALGORITHM_DIRECT);
        ck_assert_int_eq(net.seen[0].count, 3);
        ck_assert_int_eq(asked.count, 3);
        ck_assert_uint_eq(asked.nbytes, 120000);
        check_piece(piece_of(asked.times));
        ck_assert_int_eq(asked.times, round + 1);
    }
    net_fini(&net);
}
END_TEST

START_TEST(of_an_allgather_the_rows_of_all_count)
{
    start(_i);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < net.size; i++) {
            uint64_t rows = htole64(5000 + (uint64_t)i);
            struct offer offer = tensor("rows", COLLECTIVE_ALLGATHER, 5000 + i);
            offer.data = &rows;
            offer.nbytes = sizeof rows;
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        check_chosen("rows", ALGORITHM_RING);
        int size = net.size;
        ck_assert_uint_eq(asked.nbytes, (size_t)(5000 * size + size * (size - 1) / 2) * 4);
    }
    net_fini(&net);
}
END_TEST

/* It gives zeros, and has to know how they are wanted. */
START_TEST(a_rank_that_has_joined_hears_it_too)
{
    struct offer join = net_join("join");
    start(_i);
    net_submit(&net, net.size - 1, &join);
    net_complete(&net);
    for (int round = 0; round < 2; round++) {
        struct offer offer = tensor("x", COLLECTIVE_ALLREDUCE, 20000);
        offer.description.op = HVD_SUM;
        for (int i = 0; i < net.size - 1; i++)
            net_submit(&net, i, &offer);
        net_complete(&net);
        check_chosen("x", ALGORITHM_HALVING_DOUBLING);
        check_piece(piece_of(asked.times));
    }
    net_fini(&net);
}
END_TEST

START_TEST(without_anybody_to_choose_it_needs_neighbours_alone)
{
    struct offer offer = tensor("x", COLLECTIVE_ALLREDUCE, 20000);
    start(4);
    negotiation_choose_with(net.ranks[0].negotiation, NULL, NULL);
    submit_from(0, &offer);
    net_complete(&net);
    check_chosen("x", ALGORITHM_RING);
    check_piece(PIECE_MOST / 2);
    offer.description.op = HVD_ADASUM;
    submit_from(0, &offer);
    net_complete(&net);
    check_chosen("x", ALGORITHM_ADASUM);
    ck_assert_int_eq(asked.times, 0);
    net_fini(&net);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("negotiation_algorithm");
    TCase *tests = tcase_create("algorithm");
    tcase_add_loop_test(tests, all_ranks_hear_what_the_root_has_chosen, 1, 10);
    tcase_add_loop_test(tests, what_is_fused_counts_together, 1, 10);
    tcase_add_loop_test(tests, of_an_allgather_the_rows_of_all_count, 1, 30);
    tcase_add_loop_test(tests, a_rank_that_has_joined_hears_it_too, 2, 10);
    tcase_add_test(tests, without_anybody_to_choose_it_needs_neighbours_alone);
    suite_add_tcase(suite, tests);
    return unit_run(suite);
}
