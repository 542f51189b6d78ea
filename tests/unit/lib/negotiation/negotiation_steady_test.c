/* SPDX-License-Identifier: Apache-2.0 */
/* The root finds the schedule that the ranks repeat, and tells it to all. */
#include "lib/collective/piece.h"
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
        ck_assert_int_eq(net.seen[rank].schedule.slots[0], 0);
        ck_assert_int_eq(net.seen[rank].schedule.operations[0].choice.algorithm, -1);
    }
}
END_TEST

START_TEST(a_schedule_says_how_large_data_are_moved)
{
    negotiation_awaited(net.ranks[0].negotiation, true);
    for (int i = 0; i <= SCHEDULE_LEAST / 2; i++) {
        repeat("x", LARGE, 1);
        repeat("y", 2, 1);
    }
    check_schedules(1);
    const struct schedule *schedule = &net.seen[1].schedule;
    ck_assert_int_eq(schedule->count, 2);
    ck_assert_int_eq(schedule->slots[0], 0);
    ck_assert_int_ge(schedule->operations[0].choice.algorithm, 0);
    ck_assert_int_eq(schedule->operations[1].choice.algorithm, -1);
}
END_TEST

/* The size of the pieces is the root's last choice. */
static struct algorithm_choice choose_smaller(void *arg, const struct negotiation_work *work)
{
    size_t *piece = arg;
    ck_assert_int_eq(work->count, 1);
    *piece = *piece > PIECE_LEAST ? *piece / 2 : PIECE_LEAST;
    return (struct algorithm_choice){ ALGORITHM_DIRECT, *piece };
}

START_TEST(a_schedule_says_in_which_pieces_large_data_are_moved)
{
    size_t piece = PIECE_MOST;
    negotiation_choose_with(net.ranks[0].negotiation, choose_smaller, &piece);
    negotiation_awaited(net.ranks[0].negotiation, true);
    for (int i = 0; i <= SCHEDULE_LEAST / 2; i++) {
        repeat("x", LARGE, 1);
        repeat("y", 2, 1);
    }
    check_schedules(1);
    for (int rank = 0; rank < RANKS; rank++) {
        const struct schedule *schedule = &net.seen[rank].schedule;
        ck_assert_int_eq(schedule->count, 2);
        ck_assert_int_eq(schedule->operations[0].choice.algorithm, ALGORITHM_DIRECT);
        ck_assert_uint_eq(schedule->operations[0].choice.piece, PIECE_LEAST);
        ck_assert_uint_eq(schedule->operations[1].choice.piece, 0);
    }
}
END_TEST

/* A step of `count` tensors at once, the first of which is too large to be fused; each rank has an
 * order of its own. */
static void step(int count, int number)
{
    static const char names[8][2] = { "a", "b", "c", "d", "e", "f", "g", "h" };
    for (int rank = 0; rank < RANKS; rank++)
        for (int i = 0; i < count; i++) {
            int which = (i * 3 + rank + number) % count;
            struct offer offer = net_allreduce(&net, names[which], which == 0 ? 20000 : 2, data);
            net_submit(&net, rank, &offer);
        }
    net_complete(&net);
}

START_TEST(the_tensors_of_a_step_become_a_schedule_of_fused_operations)
{
    for (int number = 0; number < 100 && net.seen[0].schedules == 0; number++)
        step(8, number);
    check_schedules(1);
    for (int rank = 0; rank < RANKS; rank++) {
        const struct schedule *schedule = &net.seen[rank].schedule;
        ck_assert_int_eq(schedule->ntensors, 8);
        ck_assert_int_eq(schedule->count, 2);
        ck_assert_int_eq(schedule->operations[0].count + schedule->operations[1].count, 8);
        ck_assert_int_eq(schedule->operations[1].count, 7);
        ck_assert_int_eq(schedule->operations[1].choice.algorithm, SCHEDULED_INLINE);
        ck_assert_mem_eq(schedule->slots, net.seen[0].schedule.slots, 8 * sizeof(int));
    }
}
END_TEST

START_TEST(tensors_that_the_program_waits_for_are_not_fused)
{
    negotiation_awaited(net.ranks[0].negotiation, true);
    for (int i = 0; i <= SCHEDULE_LEAST / 2; i++) {
        repeat("x", 2, 1);
        repeat("y", 2, 1);
    }
    check_schedules(1);
    ck_assert_int_eq(net.seen[1].schedule.count, 2);
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

/* ---- what is sent with the commitment ---- */

static void send_up_to(enum collective_kind kind, size_t nbytes, bool is_all)
{
    struct schedule_sent sent = { .is_all = is_all };
    sent.most[kind] = nbytes;
    negotiation_send_up_to(net.ranks[0].negotiation, &sent);
}

/* An allgather or alltoall in which rank 1 gives `rows` rows, or sends so many to rank 2; the
 * numbers alone are offered. */
static void repeat_rows(enum collective_kind kind, int64_t rows, int times)
{
    for (int i = 0; i < times; i++) {
        for (int rank = 0; rank < RANKS; rank++) {
            unsigned char numbers[8 * RANKS];
            struct wire_writer writer = { .data = numbers, .capacity = sizeof numbers };
            int64_t own = rank == 1 ? rows : 7;
            wire_put_u64(&writer, kind == COLLECTIVE_ALLGATHER ? (uint64_t)own : 7);
            if (kind == COLLECTIVE_ALLTOALL) {
                wire_put_u64(&writer, 7);
                wire_put_u64(&writer, (uint64_t)own);
                own += 14;
            }
            struct offer offer = { .name = "rows",
                                   .description = net_description(kind, own),
                                   .data = numbers,
                                   .nbytes = writer.length };
            net_submit(&net, rank, &offer);
        }
        net_complete(&net);
    }
}

static const struct {
    enum collective_kind kind;
    int64_t rows;
    bool is_sent;
} row_cases[] = {
    { COLLECTIVE_ALLGATHER, 5000, true },
    { COLLECTIVE_ALLGATHER, 5001, false },
    { COLLECTIVE_ALLTOALL, 5000, true },
    { COLLECTIVE_ALLTOALL, 5001, false },
};

START_TEST(rows_are_sent_if_no_rank_has_more_for_another_one_than_the_limit)
{
    enum collective_kind kind = row_cases[_i].kind;
    send_up_to(kind, 5000 * sizeof *data, false);
    repeat_rows(kind, row_cases[_i].rows, SCHEDULE_LEAST + 1);
    check_schedules(1);
    int algorithm = net.seen[2].schedule.operations[0].choice.algorithm;
    ck_assert_int_eq(algorithm == SCHEDULED_SENT, row_cases[_i].is_sent);
}
END_TEST

/* A sum of three numbers would be rounded in another way than the algorithm does it. */
START_TEST(a_sum_is_sent_only_if_it_is_made_in_order_of_rank)
{
    send_up_to(COLLECTIVE_ALLREDUCE, LARGE * sizeof *data, false);
    repeat("x", LARGE, SCHEDULE_LEAST + 1);
    check_schedules(1);
    ck_assert_int_ge(net.seen[1].schedule.operations[0].choice.algorithm, 0);
}
END_TEST

START_TEST(where_nothing_else_pays_a_tensor_that_is_not_sent_interrupts_the_search)
{
    send_up_to(COLLECTIVE_ALLGATHER, 5000 * sizeof *data, true);
    repeat("x", 2, 10 * SCHEDULE_LEAST);
    check_schedules(0);
    for (int i = 0; i < SCHEDULE_LEAST; i++) {
        repeat_rows(COLLECTIVE_ALLGATHER, 5000, 1);
        repeat("x", 2, 1);
    }
    check_schedules(0);
    repeat_rows(COLLECTIVE_ALLGATHER, 5000, SCHEDULE_LEAST + 1);
    check_schedules(1);
    ck_assert_int_eq(net.seen[2].schedule.operations[0].choice.algorithm, SCHEDULED_SENT);
}
END_TEST

/* ---- schedules that cannot be ---- */

/* Slot 0 is an inline allreduce, slot 1 a large one, slot 2 an alltoall, slot 3 another inline
 * allreduce, of float64, slot 4 too large to be sent, slot 5 a barrier. An operation has the slot,
 * and the next one if it has two. */
static const struct {
    uint32_t count;
    int32_t algorithm;
    uint32_t ntensors;
    uint32_t slots[2];
    const char *text;
    uint8_t piece; /* its code */
} bad_rows[] = {
    { 0, -1, 1, { 0 }, "a schedule of 0 operations", 0 },
    { SCHEDULE_MAX + 1, -1, 1, { 0 }, "a schedule of 513 operations", 0 },
    { 1, -1, 1, { 4 }, "a schedule with slot 4 and algorithm -1", 0 },
    { 1, -1, 1, { UINT32_MAX }, "a schedule with slot 4294967295 and algorithm -1", 0 },
    { 1, -1, 1, { 1 }, "a schedule with slot 1 and algorithm -1", 0 },
    { 1, 0, 1, { 2 }, "a schedule with slot 2 and algorithm 0", 0 },
    { 1, 1000, 1, { 1 }, "a schedule with slot 1 and algorithm 1000", 0 },
    { 2, -1, 1, { 0 }, "a message of decisions is cut short", 0 },
    { 1, -1, 0, { 0 }, "an operation of 0 tensors in a schedule", 0 },
    { 1, -1, SCHEDULE_MAX + 1, { 0 }, "an operation of 513 tensors in a schedule", 0 },
    { 1, -1, 3, { 0, 0 }, "a message of decisions is cut short", 0 },
    { 1, -1, 2, { 0, 0 }, "a schedule that fuses slot 0 with others", 0 },
    { 1, SCHEDULED_FUSED, 1, { 1 }, "a schedule with slot 1 and algorithm -2", 0 },
    { 1, SCHEDULED_SENT, 1, { 4 }, "a schedule with slot 4 and algorithm -3", 0 },
    { 1, SCHEDULED_SENT, 1, { 5 }, "a schedule with slot 5 and algorithm -3", 0 },
    { 1, SCHEDULED_SENT - 1, 1, { 1 }, "a schedule with slot 1 and algorithm -4", 0 },
    { 1, SCHEDULED_SENT, 2, { 0, 1 }, "a schedule that fuses slot 0 with others", 0 },
    { 1, -1, 2, { 0, 3 }, "a schedule that fuses slot 0 with others", 0 },
    { 1, -1, 1, { 0 }, "a schedule with algorithm -1 and pieces of code 19", 19 },
    { 1, SCHEDULED_SENT, 1, { 1 }, "a schedule with algorithm -3 and pieces of code 19", 19 },
    { 1, 0, 1, { 1 }, "a schedule with algorithm 0 and pieces of code 0", 0 },
    { 1, 0, 1, { 1 }, "a schedule with algorithm 0 and pieces of code 14", 14 },
    { 1, 0, 1, { 1 }, "a schedule with algorithm 0 and pieces of code 20", 20 },
};

START_TEST(a_schedule_that_cannot_be_is_refused)
{
    struct err err = { 0 };
    struct decision decision;
    struct wire_writer body = { 0 };
    struct offer exchange = { .name = "z",
                              .description = net_description(COLLECTIVE_ALLTOALL, RANKS) };
    struct offer other = net_allreduce(&net, "w", 2, data);
    struct negotiation *negotiation = net.ranks[1].negotiation;
    repeat("x", 2, 1);
    repeat("y", LARGE, 1);
    submit_all(exchange);
    other.description.dtype = HVD_FLOAT64;
    other.nbytes = description_bytes(&other.description);
    submit_all(other);
    repeat("v", RANKS * SENT_GREATEST / (int64_t)sizeof *data + 1, 1);
    submit_all(net_barrier("u"));
    wire_put_u8(&body, DOWN_STEADY);
    wire_put_u32(&body, bad_rows[_i].count);
    wire_put_i32(&body, bad_rows[_i].algorithm);
    wire_put_u8(&body, bad_rows[_i].piece);
    wire_put_u32(&body, bad_rows[_i].ntensors);
    for (uint32_t i = 0; i < bad_rows[_i].ntensors && i < 2; i++)
        wire_put_u32(&body, bad_rows[_i].slots[i]);
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
    tcase_add_test(tcase, a_schedule_says_in_which_pieces_large_data_are_moved);
    tcase_add_test(tcase, the_tensors_of_a_step_become_a_schedule_of_fused_operations);
    tcase_add_test(tcase, tensors_that_the_program_waits_for_are_not_fused);
    tcase_add_test(tcase, a_root_that_does_not_learn_finds_no_schedule);
    tcase_add_test(tcase, a_mismatch_interrupts_the_search);
    tcase_add_test(tcase, ranks_that_have_joined_are_in_no_schedule);
    tcase_add_loop_test(tcase, rows_are_sent_if_no_rank_has_more_for_another_one_than_the_limit, 0,
                        (int)(sizeof row_cases / sizeof *row_cases));
    tcase_add_test(tcase, a_sum_is_sent_only_if_it_is_made_in_order_of_rank);
    tcase_add_test(tcase, where_nothing_else_pays_a_tensor_that_is_not_sent_interrupts_the_search);
    tcase_add_loop_test(tcase, a_schedule_that_cannot_be_is_refused, 0,
                        (int)(sizeof bad_rows / sizeof *bad_rows));
    return unit_run(suite);
}
