/* SPDX-License-Identifier: Apache-2.0 */
/* Rounds in sequences of tensors. */
#include "lib/negotiation/schedule.h"
#include "tests/support/unit.h"

static struct schedule_search search;
static struct schedule_round round_found;

#define CHOICE(algorithm) ((struct schedule_choice){ algorithm, 0 })
static const struct schedule_choice inline_choice = { SCHEDULED_INLINE, 0 };

static void set_up(void)
{
    schedule_search_init(&search);
}

/* Adds `count` tensors of rounds of `period` slots, which begin with slot 100. */
static void add_rounds(int period, int count)
{
    for (int i = 0; i < count; i++)
        schedule_add(&search, 100 + i % period, inline_choice);
}

START_TEST(one_operation_again_and_again_is_a_schedule)
{
    add_rounds(1, SCHEDULE_LEAST - 1);
    ck_assert(!schedule_find(&search, &round_found));
    add_rounds(1, 1);
    ck_assert(schedule_find(&search, &round_found));
    ck_assert_int_eq(round_found.count, 1);
    ck_assert_int_eq(round_found.tensors[0].slot, 100);
}
END_TEST

START_TEST(a_schedule_begins_with_the_next_operation)
{
    add_rounds(5, 32);
    ck_assert(schedule_find(&search, &round_found));
    ck_assert_int_eq(round_found.count, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(round_found.tensors[i].slot, 100 + (32 + i) % 5);
}
END_TEST

START_TEST(the_longest_round_needs_all_its_repeats)
{
    search.pause = SCHEDULE_REPEATS * SCHEDULE_MAX - 1;
    add_rounds(SCHEDULE_MAX, SCHEDULE_REPEATS * SCHEDULE_MAX - 1);
    ck_assert(!schedule_find(&search, &round_found));
    schedule_interrupt(&search);
    search.pause = SCHEDULE_LEAST;
    add_rounds(SCHEDULE_MAX, SCHEDULE_REPEATS * SCHEDULE_MAX);
    ck_assert(schedule_find(&search, &round_found));
    ck_assert_int_eq(round_found.count, SCHEDULE_MAX);
}
END_TEST

/* Rounds of `count` slots, each in an order of its own. */
static void add_shuffled(int count, int rounds, int step)
{
    for (int i = 0; i < rounds * count; i++)
        schedule_add(&search, 100 + (i % count * step + i / count) % count, inline_choice);
}

START_TEST(a_round_is_found_although_the_order_changes)
{
    search.pause = 3 * 161;
    add_shuffled(161, 3, 2);
    ck_assert(schedule_find(&search, &round_found));
    ck_assert_int_eq(round_found.count, 161);
    for (int i = 0; i < 161; i++)
        ck_assert_int_eq(round_found.tensors[i].slot, 100 + (i * 2 + 2) % 161);
}
END_TEST

START_TEST(another_tensor_in_one_of_the_rounds_is_no_round)
{
    search.pause = 3 * 40;
    add_shuffled(40, 1, 3);
    add_shuffled(39, 1, 2);
    schedule_add(&search, 1000, inline_choice);
    add_shuffled(40, 1, 3);
    ck_assert(!schedule_find(&search, &round_found));
}
END_TEST

START_TEST(a_round_in_another_order_does_not_have_a_tensor_twice)
{
    search.pause = 3 * 40;
    add_shuffled(40, 1, 3);
    add_shuffled(39, 1, 2);
    schedule_add(&search, 100, inline_choice);
    add_shuffled(40, 1, 3);
    ck_assert(!schedule_find(&search, &round_found));
}
END_TEST

START_TEST(data_that_are_fused_in_one_round_may_be_alone_in_another)
{
    for (int i = 0; i < SCHEDULE_LEAST; i++)
        schedule_add(&search, 100, CHOICE(i % 3 ? SCHEDULED_FUSED : 1));
    ck_assert(schedule_find(&search, &round_found));
    ck_assert_int_eq(round_found.count, 1);
}
END_TEST

START_TEST(a_tensor_that_was_alone_in_any_round_is_alone)
{
    for (int i = 0; i < 24; i++) {
        if (i == 10) /* the third of its round */
            schedule_waited(&search);
        schedule_add(&search, 100 + i % 8, inline_choice);
    }
    ck_assert(schedule_find(&search, &round_found));
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(round_found.tensors[i].is_alone, i == 2);
}
END_TEST

START_TEST(a_short_steady_state_makes_fused_tensors_single_and_the_other_way_round)
{
    for (int i = 0; i < 4; i++) {
        add_rounds(1, SCHEDULE_LEAST << i);
        ck_assert(schedule_find(&search, &round_found));
        ck_assert_int_eq(round_found.may_fuse, i % 2 == 0);
        schedule_ended(&search, 10);
    }
    add_rounds(1, SCHEDULE_LEAST << 4);
    ck_assert(schedule_find(&search, &round_found));
    schedule_ended(&search, 1000);
    add_rounds(1, SCHEDULE_LEAST);
    ck_assert(schedule_find(&search, &round_found));
    ck_assert(round_found.may_fuse);
}
END_TEST

START_TEST(a_longer_round_than_the_longest_is_no_schedule)
{
    search.pause = SCHEDULE_HISTORY;
    add_rounds(SCHEDULE_MAX + 1, 10 * (SCHEDULE_MAX + 1));
    ck_assert(!schedule_find(&search, &round_found));
}
END_TEST

/* Memory that other ranks can read, and other memory, may take turns in a program. */
START_TEST(other_pieces_are_no_other_operation_and_the_last_ones_count)
{
    for (int i = 0; i < SCHEDULE_LEAST; i++)
        schedule_add(&search, 100, (struct schedule_choice){ 1, i % 2 ? 65536 : 524288 });
    ck_assert(schedule_find(&search, &round_found));
    ck_assert_int_eq(round_found.count, 1);
    ck_assert_uint_eq(round_found.tensors[0].choice.piece, 65536);
}
END_TEST

START_TEST(another_algorithm_is_another_operation)
{
    for (int i = 0; i < SCHEDULE_LEAST; i++)
        schedule_add(&search, 100, CHOICE(i / 8));
    ck_assert(!schedule_find(&search, &round_found));
}
END_TEST

START_TEST(an_interruption_begins_anew)
{
    add_rounds(1, SCHEDULE_LEAST - 1);
    schedule_interrupt(&search);
    add_rounds(1, 1);
    ck_assert(!schedule_find(&search, &round_found));
    add_rounds(1, SCHEDULE_LEAST - 1);
    ck_assert(schedule_find(&search, &round_found));
}
END_TEST

START_TEST(a_short_steady_state_doubles_the_pause_and_a_long_one_resets_it)
{
    schedule_ended(&search, 0);
    add_rounds(1, 2 * SCHEDULE_LEAST - 1);
    ck_assert(!schedule_find(&search, &round_found));
    add_rounds(1, 1);
    ck_assert(schedule_find(&search, &round_found));
    schedule_ended(&search, 1000);
    add_rounds(1, SCHEDULE_LEAST);
    ck_assert(schedule_find(&search, &round_found));
}
END_TEST

/* A program that is interrupted after each `count` tensors. True if it is searched before `most`
 * tensors have come, and its round is found. */
static bool is_found_between_interruptions(int count, uint32_t most)
{
    for (uint32_t i = 0; i < most; i++) {
        if (i % (uint32_t)count == 0)
            schedule_interrupt(&search);
        schedule_add(&search, 100, inline_choice);
        if (schedule_find(&search, &round_found))
            return true;
    }
    return false;
}

START_TEST(a_program_that_is_interrupted_often_is_searched_again_after_the_longest_pause)
{
    for (int i = 0; i < 100; i++)
        schedule_ended(&search, 0);
    ck_assert(is_found_between_interruptions(1000, 2 * SCHEDULE_PAUSE_MAX));
}
END_TEST

START_TEST(a_search_needs_tensors_that_came_behind_the_interruption)
{
    add_rounds(1, SCHEDULE_LEAST - 1);
    ck_assert(!is_found_between_interruptions(SCHEDULE_LEAST - 1, 1000));
    ck_assert(is_found_between_interruptions(SCHEDULE_LEAST, 1000));
}
END_TEST

START_TEST(the_pause_has_a_limit)
{
    for (int i = 0; i < 100; i++)
        schedule_ended(&search, 0);
    ck_assert_uint_eq(search.pause, SCHEDULE_PAUSE_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("schedule");
    TCase *tcase = tcase_create("schedule");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, set_up, NULL);
    tcase_add_test(tcase, one_operation_again_and_again_is_a_schedule);
    tcase_add_test(tcase, a_schedule_begins_with_the_next_operation);
    tcase_add_test(tcase, the_longest_round_needs_all_its_repeats);
    tcase_add_test(tcase, a_round_is_found_although_the_order_changes);
    tcase_add_test(tcase, another_tensor_in_one_of_the_rounds_is_no_round);
    tcase_add_test(tcase, a_round_in_another_order_does_not_have_a_tensor_twice);
    tcase_add_test(tcase, data_that_are_fused_in_one_round_may_be_alone_in_another);
    tcase_add_test(tcase, a_tensor_that_was_alone_in_any_round_is_alone);
    tcase_add_test(tcase, a_short_steady_state_makes_fused_tensors_single_and_the_other_way_round);
    tcase_add_test(tcase, a_longer_round_than_the_longest_is_no_schedule);
    tcase_add_test(tcase, other_pieces_are_no_other_operation_and_the_last_ones_count);
    tcase_add_test(tcase, another_algorithm_is_another_operation);
    tcase_add_test(tcase, an_interruption_begins_anew);
    tcase_add_test(tcase, a_short_steady_state_doubles_the_pause_and_a_long_one_resets_it);
    tcase_add_test(tcase,
                   a_program_that_is_interrupted_often_is_searched_again_after_the_longest_pause);
    tcase_add_test(tcase, a_search_needs_tensors_that_came_behind_the_interruption);
    tcase_add_test(tcase, the_pause_has_a_limit);
    return unit_run(suite);
}
