/* SPDX-License-Identifier: Apache-2.0 */
/* The root finds the schedule that the ranks repeat, and tells it to all. */
#include "lib/negotiation/message.h"
#include "tests/support/negotiation_net.h"
#include "tests/support/unit.h"

enum { RANKS = 3, LARGE = 5000 };

static struct net net;
static float data[LARGE];

static void set_up(void)
{
    net_init(&net, RANKS, &net_defaults, 1);
    negotiation_learn(net.ranks[0].negotiation, true);
}

static void tear_down(void)
{
    net_fini(&net);
}

/* All ranks submit, and all is decided. */
static void submit_all(struct offer offer)
{
    for (int rank = 0; rank < RANKS; rank++)
        net_submit(&net, rank, &offer);
    net_complete(&net);
}

static void repeat(const char *name, int64_t count, int times)
{
    for (int i = 0; i < times; i++)
        submit_all(net_allreduce(&net, name, count, data));
}

static void check_schedules(int number)
{
    for (int rank = 0; rank < RANKS; rank++)
        ck_assert_int_eq(net.seen[rank].schedules, number);
}

START_TEST(a_name_that_comes_again_and_again_becomes_a_schedule_on_all_ranks)
{
    repeat("x", 2, SCHEDULE_LEAST);
    check_schedules(0); /* the first one gave the name its slot */
    repeat("x", 2, 1);
    check_schedules(1);
    for (int rank = 0; rank < RANKS; rank++) {
        ck_assert_int_eq(net.seen[rank].schedule.count, 1);
        ck_assert_int_eq(net.seen[rank].schedule.operations[0].slot, 0);
        ck_assert_int_eq(net.seen[rank].schedule.operations[0].algorithm, -1);
    }
}
END_TEST

START_TEST(a_schedule_says_how_large_data_are_moved)
{
    for (int i = 0; i <= SCHEDULE_LEAST / 2; i++) {
        repeat("x", LARGE, 1);
        repeat("y", 2, 1);
    }
    check_schedules(1);
    const struct schedule *schedule = &net.seen[1].schedule;
    ck_assert_int_eq(schedule->count, 2);
    ck_assert_int_eq(schedule->operations[0].slot, 0);
    ck_assert_int_ge(schedule->operations[0].algorithm, 0);
    ck_assert_int_eq(schedule->operations[1].algorithm, -1);
}
END_TEST

START_TEST(a_root_that_does_not_learn_finds_no_schedule)
{
    negotiation_learn(net.ranks[0].negotiation, false);
    repeat("x", 2, 10 * SCHEDULE_LEAST);
    check_schedules(0);
}
END_TEST

START_TEST(a_mismatch_interrupts_the_search)
{
    repeat("x", 2, SCHEDULE_LEAST);
    for (int rank = 0; rank < RANKS; rank++) {
        struct offer offer = net_allreduce(&net, "x", rank == 1 ? 3 : 2, data);
        net_submit(&net, rank, &offer);
    }
    net_complete(&net);
    repeat("x", 2, SCHEDULE_LEAST - 1);
    check_schedules(0);
    repeat("x", 2, 1);
    check_schedules(1);
}
END_TEST

START_TEST(ranks_that_have_joined_are_in_no_schedule)
{
    struct offer join = net_join("join"), offer = net_allreduce(&net, "x", 2, data);
    net_submit(&net, 1, &join);
    for (int i = 0; i < 2 * SCHEDULE_LEAST; i++) {
        net_submit(&net, 0, &offer);
        net_submit(&net, 2, &offer);
        net_complete(&net);
    }
    check_schedules(0);
}
END_TEST

/* ---- schedules that cannot be ---- */

/* Slot 0 is an inline allreduce, slot 1 a large one, slot 2 an alltoall. */
static const struct {
    uint32_t count;
    uint32_t slot;
    int32_t algorithm;
    const char *text;
} bad_rows[] = {
    { 0, 0, -1, "a schedule of 0 operations" },
    { SCHEDULE_MAX + 1, 0, -1, "a schedule of 33 operations" },
    { 1, 3, -1, "a schedule with slot 3 and algorithm -1" },
    { 1, UINT32_MAX, -1, "a schedule with slot 4294967295 and algorithm -1" },
    { 1, 1, -1, "a schedule with slot 1 and algorithm -1" },
    { 1, 2, 0, "a schedule with slot 2 and algorithm 0" },
    { 1, 1, 1000, "a schedule with slot 1 and algorithm 1000" },
    { 2, 0, -1, "a message of decisions is cut short" },
};

START_TEST(a_schedule_that_cannot_be_is_refused)
{
    struct err err = { 0 };
    struct decision decision;
    struct wire_writer body = { 0 };
    struct offer exchange = { .name = "z",
                              .description = net_description(COLLECTIVE_ALLTOALL, RANKS) };
    struct negotiation *negotiation = net.ranks[1].negotiation;
    repeat("x", 2, 1);
    repeat("y", LARGE, 1);
    submit_all(exchange);
    wire_put_u8(&body, DOWN_STEADY);
    wire_put_u32(&body, bad_rows[_i].count);
    wire_put_u32(&body, bad_rows[_i].slot);
    wire_put_i32(&body, bad_rows[_i].algorithm);
    ck_assert_int_eq(negotiation_apply(negotiation, body.data, body.length, &err), HVD_OK);
    ck_assert_int_eq(negotiation_next(negotiation, &decision, &err), HVD_ERR_PROTOCOL);
    ck_assert_str_eq(err.text, bad_rows[_i].text);
    wire_writer_fini(&body);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("negotiation_steady");
    TCase *tcase = tcase_create("negotiation_steady");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_test(tcase, a_name_that_comes_again_and_again_becomes_a_schedule_on_all_ranks);
    tcase_add_test(tcase, a_schedule_says_how_large_data_are_moved);
    tcase_add_test(tcase, a_root_that_does_not_learn_finds_no_schedule);
    tcase_add_test(tcase, a_mismatch_interrupts_the_search);
    tcase_add_test(tcase, ranks_that_have_joined_are_in_no_schedule);
    tcase_add_loop_test(tcase, a_schedule_that_cannot_be_is_refused, 0,
                        (int)(sizeof bad_rows / sizeof *bad_rows));
    return unit_run(suite);
}
