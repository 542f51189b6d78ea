/* SPDX-License-Identifier: Apache-2.0 */
/* What all ranks submit is decided on, alike everywhere; what travels with it is reduced or listed
 * in order of rank. */
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct net net;
static struct net_seen *seen; /* by its ranks */

static void start(int size)
{
    net_init(&net, size, &net_defaults, (uint64_t)size);
    seen = net.seen;
}

START_TEST(nothing_is_said_when_nothing_was_submitted)
{
    start(_i);
    ck_assert(!net_step(&net));
    net_fini(&net);
}
END_TEST

START_TEST(small_data_is_reduced_with_the_agreement)
{
    start(_i);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < net.size; i++) {
            float data[2] = { (float)i, (float)round };
            struct offer offer = net_allreduce(&net, "grad", 2, data);
            offer.owner = &seen[i];
            net_submit(&net, i, &offer);
            ck_assert(negotiation_in_flight(net.ranks[i].negotiation, "grad"));
        }
        net_complete(&net);
        net_check_one(&net, DECISION_DONE, "grad");
        float expected[2] = { (float)(_i * (_i - 1) / 2), (float)(round * _i) };
        for (int i = 0; i < net.size; i++) {
            ck_assert_ptr_eq(seen[i].owner, &seen[i]);
            ck_assert_uint_eq(seen[i].nbytes, sizeof expected);
            ck_assert_mem_eq(seen[i].data, expected, sizeof expected);
            ck_assert(!seen[i].has_list);
            ck_assert(!negotiation_in_flight(net.ranks[i].negotiation, "grad"));
            ck_assert_int_eq(negotiation_waiting_count(net.ranks[i].negotiation), 0);
        }
    }
    net_fini(&net);
}
END_TEST

START_TEST(large_data_is_run)
{
    start(_i);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < net.size; i++) {
            struct offer offer = net_allreduce(&net, "grad", 100000, NULL);
            offer.nbytes = 0;
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, DECISION_BATCH, "grad");
        ck_assert_uint_eq(seen[0].nbytes, 0);
    }
    net_fini(&net);
}
END_TEST

START_TEST(lists_are_in_order_of_rank)
{
    start(_i);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < net.size; i++) {
            unsigned char data[64] = { (unsigned char)i };
            memset(data + 8, 'a' + i, sizeof data - 8);
            struct offer offer = { .name = "embed",
                                   .description = net_description(COLLECTIVE_ALLGATHER, i),
                                   .data = data,
                                   .nbytes = (size_t)(8 + i),
                                   .complete = round < 2 || i > 0 };
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, round < 2 ? DECISION_DONE : DECISION_BATCH, "embed");
        for (int i = 0; i < net.size; i++) {
            ck_assert(seen[i].has_list);
            size_t at = 0;
            for (int j = 0; j < net.size; j++) {
                size_t nbytes = (size_t)(round < 2 ? 8 + j : 8);
                ck_assert_uint_eq(seen[i].offsets[j], at);
                ck_assert_int_eq(seen[i].data[at], j);
                if (nbytes > 8)
                    ck_assert_int_eq(seen[i].data[at + nbytes - 1], 'a' + j);
                at += nbytes;
            }
            ck_assert_uint_eq(seen[i].offsets[net.size], at);
            ck_assert_uint_eq(seen[i].nbytes, at);
        }
    }
    net_fini(&net);
}
END_TEST

START_TEST(the_roots_tensor_comes_to_all)
{
    start(_i);
    for (int root = 0; root < net.size; root++) {
        char data[20] = "of the root";
        for (int i = 0; i < net.size; i++) {
            struct offer offer = { .name = "weights",
                                   .description = net_description(COLLECTIVE_BROADCAST, 5),
                                   .data = i == root ? data : NULL,
                                   .nbytes = i == root ? sizeof data : 0,
                                   .complete = true };
            offer.description.root = root;
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, DECISION_DONE, "weights");
        for (int i = 0; i < net.size; i++) {
            ck_assert_uint_eq(seen[i].nbytes, sizeof data);
            ck_assert_uint_eq(seen[i].offsets[root], 0);
            ck_assert_uint_eq(seen[i].offsets[root + 1], sizeof data);
            ck_assert_mem_eq(seen[i].data, data, sizeof data);
        }
    }
    net_fini(&net);
}
END_TEST

/* Lists that are whole whatever their size, and what has no data at all. */
START_TEST(every_kind_is_decided_as_it_should_be)
{
    static const struct {
        enum collective_kind kind;
        enum hvd_op op;
        int64_t count;
        size_t nbytes; /* of each rank */
        bool complete;
        enum decision_kind decision;
        bool list;
        size_t total; /* by rank */
    } rows[] = {
        { COLLECTIVE_ALLTOALL, HVD_AVERAGE, 6, 0, false, DECISION_BATCH, true, 0 },
        { COLLECTIVE_ALLTOALL, HVD_AVERAGE, 6, 32, false, DECISION_BATCH, true, 32 },
        { COLLECTIVE_ALLTOALL, HVD_AVERAGE, 6, 56, true, DECISION_DONE, true, 56 },
        { COLLECTIVE_ALLTOALL, HVD_AVERAGE, 6, 56, false, DECISION_BATCH, true, 32 },
        { COLLECTIVE_ADD_SET, HVD_AVERAGE, 2, 900, true, DECISION_DONE, true, 900 },
        { COLLECTIVE_REMOVE_SET, HVD_AVERAGE, 0, 0, true, DECISION_DONE, false, 0 },
        { COLLECTIVE_BARRIER, HVD_AVERAGE, 0, 0, true, DECISION_DONE, false, 0 },
        { COLLECTIVE_BROADCAST, HVD_AVERAGE, 0, 0, true, DECISION_DONE, true, 0 },
        { COLLECTIVE_BROADCAST, HVD_AVERAGE, 5000, 0, false, DECISION_BATCH, false, 0 },
        { COLLECTIVE_ALLREDUCE, HVD_ADASUM, 2, 0, false, DECISION_BATCH, false, 0 },
        { COLLECTIVE_ALLREDUCE, HVD_SUM, 0, 0, true, DECISION_DONE, false, 0 },
        { COLLECTIVE_REDUCESCATTER, HVD_SUM, 5000, 0, false, DECISION_BATCH, false, 0 },
        { COLLECTIVE_ALLGATHER, HVD_AVERAGE, 2, 16, true, DECISION_DONE, true, 16 },
        { COLLECTIVE_ALLGATHER, HVD_AVERAGE, 2, 16, false, DECISION_BATCH, true, 8 },
    };
    unsigned char data[1000] = { 1 };
    start(4);
    for (size_t row = 0; row < 3 * sizeof rows / sizeof *rows; row++) {
        size_t at = row % (sizeof rows / sizeof *rows);
        char name[20];
        snprintf(name, sizeof name, "row%zu", at);
        for (int i = 0; i < net.size; i++) {
            struct offer offer = { .name = name,
                                   .description = net_description(rows[at].kind, rows[at].count),
                                   .data = data,
                                   .nbytes = rows[at].nbytes,
                                   .complete = rows[at].complete };
            offer.description.op = rows[at].op;
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, rows[at].decision, name);
        ck_assert_msg(seen[3].has_list == rows[at].list, "%s", name);
        ck_assert_msg(seen[3].nbytes == rows[at].total * 4, "%s: %zu", name, seen[3].nbytes);
    }
    net_fini(&net);
}
END_TEST

START_TEST(too_large_a_list_is_run_and_only_its_rows_are_kept)
{
    static unsigned char data[20000];
    start(9);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < net.size; i++) {
            data[0] = (unsigned char)i;
            struct offer offer = { .name = "embed",
                                   .description = net_description(COLLECTIVE_ALLGATHER, 1),
                                   .data = data,
                                   .nbytes = sizeof data,
                                   .complete = true };
            net_submit(&net, i, &offer);
        }
        net_complete(&net);
        net_check_one(&net, DECISION_BATCH, "embed");
        ck_assert_uint_eq(seen[4].nbytes, 8 * 9);
        for (int i = 0; i < net.size; i++)
            ck_assert_int_eq(seen[4].data[8 * i], i);
    }
    net_fini(&net);
}
END_TEST

START_TEST(of_too_large_an_alltoall_the_numbers_for_all_ranks_are_kept)
{
    static unsigned char data[20000];
    start(9);
    for (int i = 0; i < net.size; i++) {
        for (int to = 0; to < net.size; to++)
            data[8 * to] = (unsigned char)(10 * i + to);
        struct offer offer = { .name = "tokens",
                               .description = net_description(COLLECTIVE_ALLTOALL, 1),
                               .data = data,
                               .nbytes = sizeof data,
                               .complete = true };
        net_submit(&net, i, &offer);
    }
    net_complete(&net);
    net_check_one(&net, DECISION_BATCH, "tokens");
    ck_assert_uint_eq(seen[4].nbytes, 8 * 9 * 9);
    for (int i = 0; i < net.size; i++)
        for (int to = 0; to < net.size; to++)
            ck_assert_int_eq(seen[4].data[8 * (9 * i + to)], 10 * i + to);
    net_fini(&net);
}
END_TEST

START_TEST(a_name_in_flight_is_refused)
{
    const float data[1] = { 1 };
    struct err err = { 0 };
    start(2);
    struct offer offer = net_allreduce(&net, "x", 1, data);
    net_submit(&net, 0, &offer);
    ck_assert_int_eq(negotiation_submit(net.ranks[0].negotiation, &offer, 0, &err),
                     HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "allreduce 'x': a tensor of this name is in flight already");
    net_complete(&net);
    ck_assert(negotiation_in_flight(net.ranks[0].negotiation, "x"));
    ck_assert(!negotiation_in_flight(net.ranks[1].negotiation, "x"));
    net_submit(&net, 1, &offer);
    net_complete(&net);
    net_check_one(&net, DECISION_DONE, "x");
    net_fini(&net);
}
END_TEST

START_TEST(data_of_the_wrong_size_is_refused)
{
    const float data[2] = { 1 };
    struct err err = { 0 };
    start(1);
    struct offer offer = net_allreduce(&net, "x", 2, data);
    offer.nbytes = 4;
    ck_assert_int_eq(negotiation_submit(net.ranks[0].negotiation, &offer, 0, &err),
                     HVD_ERR_INVALID);
    ck_assert(!negotiation_in_flight(net.ranks[0].negotiation, "x"));
    net_fini(&net);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("agree");
    tcase_add_loop_test(tcase, nothing_is_said_when_nothing_was_submitted, 1, 10);
    tcase_add_loop_test(tcase, small_data_is_reduced_with_the_agreement, 1, 31);
    tcase_add_loop_test(tcase, large_data_is_run, 1, 10);
    tcase_add_loop_test(tcase, lists_are_in_order_of_rank, 1, 25);
    tcase_add_loop_test(tcase, the_roots_tensor_comes_to_all, 1, 10);
    tcase_add_test(tcase, every_kind_is_decided_as_it_should_be);
    tcase_add_test(tcase, too_large_a_list_is_run_and_only_its_rows_are_kept);
    tcase_add_test(tcase, of_too_large_an_alltoall_the_numbers_for_all_ranks_are_kept);
    tcase_add_test(tcase, a_name_in_flight_is_refused);
    tcase_add_test(tcase, data_of_the_wrong_size_is_refused);
    Suite *all = suite_create("negotiation_agree");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
