/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that have joined count as ready and give zeros; what is not possible without them fails;
 * when all have joined, all learn who was last and go on. */
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

static struct net net;

static void start(int size)
{
    net_init(&net, size, &net_defaults, (uint64_t)size);
}

static void join(int rank)
{
    struct offer offer = net_join("join");
    offer.owner = &net.seen[rank];
    net_submit(&net, rank, &offer);
}

static void reduce(int rank, const char *name, enum hvd_op op, float value)
{
    struct offer offer = net_allreduce(&net, name, 1, &value);
    offer.description.op = op;
    net_submit(&net, rank, &offer);
}

static float result(int rank)
{
    float value;
    ck_assert_uint_eq(net.seen[rank].nbytes, sizeof value);
    memcpy(&value, net.seen[rank].data, sizeof value);
    return value;
}

START_TEST(a_set_of_one_joins_at_once)
{
    start(1);
    for (int round = 0; round < 3; round++) {
        join(0);
        net_complete(&net);
        net_check_one(&net, DECISION_DONE, "join");
        ck_assert_int_eq(net.seen[0].last_rank, 0);
        ck_assert_ptr_eq(net.seen[0].owner, &net.seen[0]);
    }
    net_fini(&net);
}
END_TEST

START_TEST(the_last_to_join_is_known_to_all)
{
    start(_i);
    for (int last = 0; last < net.size; last++) {
        for (int i = 0; i < net.size; i++)
            if (i != last)
                join(i);
        net_complete(&net);
        ck_assert_int_eq(net.seen[0].decisions, 0);
        join(last);
        net_complete(&net);
        net_check_one(&net, DECISION_DONE, "join");
        for (int i = 0; i < net.size; i++)
            ck_assert_int_eq(net.seen[i].last_rank, last);
    }
    net_fini(&net);
}
END_TEST

START_TEST(who_has_joined_gives_zeros)
{
    static const struct {
        enum hvd_op op;
        float value, expected;
    } rows[] = {
        { HVD_SUM, 5, 10 }, { HVD_AVERAGE, 6, 4 }, { HVD_MIN, 2, 0 },
        { HVD_MAX, -2, 0 }, { HVD_PRODUCT, 3, 0 },
    };
    start(3);
    join(1);
    for (size_t row = 0; row < 2 * sizeof rows / sizeof *rows; row++) {
        size_t at = row / 2;
        reduce(0, "x", rows[at].op, rows[at].value);
        reduce(2, "x", rows[at].op, rows[at].value);
        net_complete(&net);
        ck_assert_int_eq(net.seen[1].decisions, 0);
        ck_assert_int_eq(net.seen[2].kind, DECISION_DONE);
        ck_assert_float_eq(result(2), rows[at].expected);
    }
    net_fini(&net);
}
END_TEST

START_TEST(who_has_joined_takes_part_in_what_is_run)
{
    start(3);
    join(2);
    struct offer offer = net_allreduce(&net, "x", 100000, NULL);
    offer.nbytes = 0;
    offer.owner = &net;
    net_submit(&net, 0, &offer);
    net_submit(&net, 1, &offer);
    net_complete(&net);
    net_check_one(&net, DECISION_BATCH, "x");
    ck_assert_ptr_null(net.seen[2].owner);
    ck_assert_ptr_eq(net.seen[1].owner, &net);
    net_fini(&net);
}
END_TEST

static int absent[2]; /* decisions without, with a rank that is absent */

static void count_absent(struct net *source, int rank, const struct decision *decision)
{
    (void)source;
    (void)rank;
    absent[decision->kind == DECISION_BATCH && decision->tensors->absent]++;
}

START_TEST(what_devices_reduce_is_told_to_lack_a_rank_that_has_joined)
{
    static const struct {
        enum memory_kind memory;
        bool joined;
        int without, with;
    } rows[] = {
        { MEMORY_DEVICE_REDUCES, false, 3, 0 },
        { MEMORY_DEVICE_REDUCES, true, 0, 3 },
        { MEMORY_DEVICE, true, 3, 0 },
    };
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        int submitting = rows[row].joined ? 2 : 3;
        start(3);
        net.on_decision = count_absent;
        if (rows[row].joined)
            join(2);
        for (int round = 0; round < 2; round++) { /* by name, by slot */
            struct offer offer = net_allreduce(&net, "x", 1, NULL);
            offer.complete = false;
            offer.nbytes = 0;
            offer.description.memory = rows[row].memory;
            absent[0] = absent[1] = 0;
            for (int rank = 0; rank < submitting; rank++)
                net_submit(&net, rank, &offer);
            net_complete(&net);
            ck_assert_int_eq(absent[0], rows[row].without);
            ck_assert_int_eq(absent[1], rows[row].with);
        }
        net_fini(&net);
    }
}
END_TEST

START_TEST(a_join_completes_what_the_others_wait_for)
{
    start(6);
    for (int i = 0; i < 6; i++)
        if (i != 1 && i != 2)
            reduce(i, "x", HVD_SUM, 1);
    net_complete(&net);
    join(1);
    net_complete(&net);
    ck_assert_int_eq(net.seen[0].decisions, 0);
    join(2);
    net_complete(&net);
    ck_assert_int_eq(net.seen[5].decisions, 1);
    ck_assert_float_eq(result(5), 4);
    net_fini(&net);
}
END_TEST

START_TEST(other_kinds_fail_while_a_rank_has_joined)
{
    static const struct {
        enum collective_kind kind;
        enum hvd_op op;
        const char *text;
    } rows[] = {
        { COLLECTIVE_ALLGATHER, 0, "allgather 'x': not possible while rank 2 has joined" },
        { COLLECTIVE_BROADCAST, 0, "broadcast 'x': not possible while rank 2 has joined" },
        { COLLECTIVE_ALLTOALL, 0, "alltoall 'x': not possible while rank 2 has joined" },
        { COLLECTIVE_ALLREDUCE, HVD_ADASUM, "allreduce 'x': not possible while rank 2 has joined" },
        { COLLECTIVE_REDUCESCATTER, HVD_SUM,
          "reduce-scatter 'x': not possible while rank 2 has joined" },
    };
    start(4);
    join(2);
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        struct offer offer = { .name = "x", .description = net_description(rows[row].kind, 1) };
        offer.description.op = rows[row].op;
        for (int i = 0; i < 4; i++)
            if (i != 2)
                net_submit(&net, i, &offer);
        net_complete(&net);
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(net.seen[i].decisions, i == 2 ? 0 : (int)row + 1);
        ck_assert_int_eq(net.seen[3].kind, DECISION_FAILED);
        ck_assert_int_eq(net.seen[3].status, HVD_ERR_MISMATCH);
        ck_assert_str_eq(net.seen[3].text, rows[row].text);
    }
    net_fini(&net);
}
END_TEST

START_TEST(what_comes_behind_the_own_join_waits_for_its_end)
{
    struct err err = { 0 };
    start(2);
    join(0);
    reduce(0, "x", HVD_SUM, 1);
    join(1);
    struct offer offer = net_join("join");
    ck_assert_int_eq(negotiation_submit(net.ranks[1].negotiation, &offer, 0, &err),
                     HVD_ERR_INVALID);
    offer.name = "x";
    ck_assert_int_eq(negotiation_submit(net.ranks[0].negotiation, &offer, 0, &err),
                     HVD_ERR_INVALID);
    ck_assert(negotiation_in_flight(net.ranks[0].negotiation, "x"));
    net_complete(&net);
    net_check_one(&net, DECISION_DONE, "join");
    reduce(1, "x", HVD_SUM, 2);
    net_complete(&net);
    net_check_one(&net, DECISION_DONE, "x");
    ck_assert_float_eq(result(0), 3);
    net_fini(&net);
}
END_TEST

START_TEST(what_is_held_is_freed_with_the_rest)
{
    start(2);
    join(0);
    reduce(0, "x", HVD_SUM, 1);
    net_fini(&net);
}
END_TEST

START_TEST(the_own_join_is_told_as_waiting)
{
    struct waiting waiting;
    char text[40];
    start(3);
    join(0);
    ck_assert_int_eq(negotiation_waiting_count(net.ranks[0].negotiation), 1);
    ck_assert_int_eq(negotiation_waiting(net.ranks[0].negotiation, 0, &waiting), 1);
    ck_assert_int_eq(waiting.kind, COLLECTIVE_JOIN);
    rank_ranges_text(text, sizeof text, &waiting.missing, NULL);
    ck_assert_str_eq(text, "ranks 1-2");
    net_fini(&net);
}
END_TEST

/* Uneven data: rank i has `length[i]` steps, each with a small and a large tensor, then joins. */
enum { STEPS = 12 };
static int length[NET_RANKS_MAX], small_done[NET_RANKS_MAX], ran[NET_RANKS_MAX], ends, last_rank;

static float step_sum(int step)
{
    float sum = 0;
    for (int i = 0; i < net.size; i++)
        sum += step < length[i] ? (float)(i + 1) : 0;
    return sum;
}

static void on_decision(struct net *source, int rank, const struct decision *decision)
{
    (void)source;
    const struct agreed *agreed = decision->tensors;
    if (agreed->description.kind == COLLECTIVE_JOIN) {
        ck_assert(ends++ == 0 || agreed->last_rank == last_rank);
        last_rank = agreed->last_rank;
        return;
    }
    if (decision->kind == DECISION_BATCH) {
        ran[rank] += decision->count;
        return;
    }
    float value;
    ck_assert_int_eq(decision->kind, DECISION_DONE);
    memcpy(&value, agreed->data, sizeof value);
    ck_assert_float_eq(value, step_sum(atoi(agreed->name + 1)));
    small_done[rank]++;
}

static void submit_step(int rank, int step)
{
    char name[16];
    if (step == length[rank]) {
        join(rank);
        return;
    }
    snprintf(name, sizeof name, "s%d", step);
    reduce(rank, name, HVD_SUM, (float)(rank + 1));
    snprintf(name, sizeof name, "l%d", step);
    struct offer offer = net_allreduce(&net, name, 100000, NULL);
    offer.nbytes = 0;
    net_submit(&net, rank, &offer);
}

static void play_epoch(void)
{
    int step[NET_RANKS_MAX] = { 0 }, longest = 0, left = net.size;
    for (int i = 0; i < net.size; i++) {
        length[i] = (int)net_random(&net, STEPS);
        longest = length[i] > longest ? length[i] : longest;
        small_done[i] = ran[i] = 0;
    }
    for (ends = 0; left > 0;) {
        int rank = (int)net_random(&net, (uint32_t)net.size);
        if (step[rank] > length[rank])
            continue;
        left -= step[rank] == length[rank];
        submit_step(rank, step[rank]++);
        for (uint32_t steps = net_random(&net, 6); steps > 0; steps--)
            net_step(&net);
    }
    net_complete(&net);
    ck_assert_int_eq(ends, net.size);
    for (int i = 0; i < net.size; i++) {
        ck_assert_int_eq(small_done[i], length[i]);
        ck_assert_int_eq(ran[i], longest);
        ck_assert_int_eq(negotiation_waiting_count(net.ranks[i].negotiation), 0);
    }
}

START_TEST(ranks_with_uneven_data_all_come_to_the_end)
{
    struct negotiation_settings settings = net_defaults;
    settings.cache_capacity = _i % 3 == 0 ? 0 : _i % 3 == 1 ? 5 : 1024;
    net_init(&net, _i < 10 ? _i : 30, &settings, (uint64_t)_i);
    net.on_decision = on_decision;
    for (int epoch = 0; epoch < 12; epoch++)
        play_epoch();
    net_fini(&net);
}
END_TEST

static Suite *suite(void)
{
    TCase *tcase = tcase_create("join");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_set_of_one_joins_at_once);
    tcase_add_loop_test(tcase, the_last_to_join_is_known_to_all, 1, 10);
    tcase_add_test(tcase, who_has_joined_gives_zeros);
    tcase_add_test(tcase, who_has_joined_takes_part_in_what_is_run);
    tcase_add_test(tcase, what_devices_reduce_is_told_to_lack_a_rank_that_has_joined);
    tcase_add_test(tcase, a_join_completes_what_the_others_wait_for);
    tcase_add_test(tcase, other_kinds_fail_while_a_rank_has_joined);
    tcase_add_test(tcase, what_comes_behind_the_own_join_waits_for_its_end);
    tcase_add_test(tcase, what_is_held_is_freed_with_the_rest);
    tcase_add_test(tcase, the_own_join_is_told_as_waiting);
    tcase_add_loop_test(tcase, ranks_with_uneven_data_all_come_to_the_end, 1, 13);
    Suite *all = suite_create("negotiation_join");
    suite_add_tcase(all, tcase);
    return all;
}

int main(void)
{
    return unit_run(suite());
}
