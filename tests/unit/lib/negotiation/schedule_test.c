/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules in sequences of operations. */
#include "lib/negotiation/schedule.h"
#include "tests/support/unit.h"

static struct schedule_search search;
static struct schedule schedule;

static void set_up(void)
{
    schedule_search_init(&search);
}

/* Adds `count` operations of rounds of `period` slots, which begin with slot 100. */
static void add_rounds(int period, int count)
{
    for (int i = 0; i < count; i++)
        schedule_add(&search, (struct scheduled){ .slot = 100 + i % period, .algorithm = -1 });
}

START_TEST(one_operation_again_and_again_is_a_schedule)
{
    add_rounds(1, SCHEDULE_LEAST - 1);
    ck_assert(!schedule_find(&search, &schedule));
    add_rounds(1, 1);
    ck_assert(schedule_find(&search, &schedule));
    ck_assert_int_eq(schedule.count, 1);
    ck_assert_int_eq(schedule.operations[0].slot, 100);
}
END_TEST

START_TEST(a_schedule_begins_with_the_next_operation)
{
    add_rounds(5, 32);
    ck_assert(schedule_find(&search, &schedule));
    ck_assert_int_eq(schedule.count, 5);
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(schedule.operations[i].slot, 100 + (32 + i) % 5);
}
END_TEST

START_TEST(the_longest_schedule_needs_all_its_repeats)
{
    search.pause = SCHEDULE_REPEATS * SCHEDULE_MAX - 1;
    add_rounds(SCHEDULE_MAX, SCHEDULE_REPEATS * SCHEDULE_MAX - 1);
    ck_assert(!schedule_find(&search, &schedule));
    add_rounds(1, 0);
    schedule_interrupt(&search);
    search.pause = SCHEDULE_LEAST;
    add_rounds(SCHEDULE_MAX, SCHEDULE_REPEATS * SCHEDULE_MAX);
    ck_assert(schedule_find(&search, &schedule));
    ck_assert_int_eq(schedule.count, SCHEDULE_MAX);
}
END_TEST

START_TEST(a_longer_period_than_the_longest_is_no_schedule)
{
    search.pause = SCHEDULE_HISTORY;
    add_rounds(SCHEDULE_MAX + 1, 10 * (SCHEDULE_MAX + 1));
    ck_assert(!schedule_find(&search, &schedule));
}
END_TEST

START_TEST(another_algorithm_is_another_operation)
{
    for (int i = 0; i < SCHEDULE_LEAST; i++)
        schedule_add(&search, (struct scheduled){ .slot = 100, .algorithm = i / 8 });
    ck_assert(!schedule_find(&search, &schedule));
}
END_TEST

START_TEST(an_interruption_begins_anew)
{
    add_rounds(1, SCHEDULE_LEAST - 1);
    schedule_interrupt(&search);
    add_rounds(1, 1);
    ck_assert(!schedule_find(&search, &schedule));
    add_rounds(1, SCHEDULE_LEAST - 1);
    ck_assert(schedule_find(&search, &schedule));
}
END_TEST

START_TEST(a_short_steady_state_doubles_the_pause_and_a_long_one_resets_it)
{
    schedule_ended(&search, 0);
    add_rounds(1, 2 * SCHEDULE_LEAST - 1);
    ck_assert(!schedule_find(&search, &schedule));
    add_rounds(1, 1);
    ck_assert(schedule_find(&search, &schedule));
    schedule_ended(&search, 1000);
    add_rounds(1, SCHEDULE_LEAST);
    ck_assert(schedule_find(&search, &schedule));
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
    tcase_add_test(tcase, the_longest_schedule_needs_all_its_repeats);
    tcase_add_test(tcase, a_longer_period_than_the_longest_is_no_schedule);
    tcase_add_test(tcase, another_algorithm_is_another_operation);
    tcase_add_test(tcase, an_interruption_begins_anew);
    tcase_add_test(tcase, a_short_steady_state_doubles_the_pause_and_a_long_one_resets_it);
    tcase_add_test(tcase, the_pause_has_a_limit);
    return unit_run(suite);
}
