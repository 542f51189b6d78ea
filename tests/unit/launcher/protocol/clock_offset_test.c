/* SPDX-License-Identifier: Apache-2.0 */
/* What another machine's clock says on ours, and how sure that is. */
#include "launcher/protocol/clock_offset.h"
#include "tests/support/unit.h"

#define SECOND ((uint64_t)1000000)

static struct clock_offset peer;

static void setup(void)
{
    peer = (struct clock_offset){ 0 };
}

/* Theirs is 50 s behind ours. */
static void answers(uint64_t at_us, uint64_t round_trip_us)
{
    clock_offset_compare(&peer, at_us - round_trip_us, at_us - round_trip_us / 2 - 50 * SECOND,
                         at_us);
}

static void is_at(uint64_t their_us, uint64_t now_us, uint64_t at_us, uint64_t slack_us)
{
    uint64_t said_us;
    ck_assert_uint_eq(clock_offset_time(&peer, their_us, now_us, &said_us), slack_us);
    ck_assert_uint_eq(said_us, at_us);
}

START_TEST(of_a_clock_of_which_nothing_is_known_any_time_may_be_now)
{
    is_at(3 * SECOND, 100 * SECOND, 100 * SECOND, 100 * SECOND);
}
END_TEST

START_TEST(a_quick_answer_tells_more_than_a_slow_one)
{
    answers(100 * SECOND, 2000);
    answers(100 * SECOND, 100);
    answers(101 * SECOND, 2000);
    is_at(50 * SECOND, 101 * SECOND, 100 * SECOND, 50);
}
END_TEST

START_TEST(nothing_was_later_than_now_or_before_all_time)
{
    answers(100 * SECOND, 100);
    is_at(70 * SECOND, 101 * SECOND, 101 * SECOND, 50 + 200);
    peer.ahead_us = -(int64_t)(50 * SECOND);
    is_at(3 * SECOND, 101 * SECOND, 0, 50 + 100 * 200);
}
END_TEST

START_TEST(what_was_known_long_ago_is_less_sure_and_yields_to_a_slower_answer)
{
    answers(100 * SECOND, 100);
    is_at(3600 * SECOND, 9000 * SECOND, 3650 * SECOND, 50 + 3550 * 200);
    answers(3650 * SECOND, 2000);
    is_at(3600 * SECOND, 9000 * SECOND, 3650 * SECOND, 1000);
}
END_TEST

START_TEST(a_clock_that_stood_still_is_known_anew)
{
    answers(100 * SECOND, 100);
    clock_offset_compare(&peer, 110 * SECOND - 4000, 50 * SECOND, 110 * SECOND);
    is_at(50 * SECOND, 120 * SECOND, 110 * SECOND - 2000, 2000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clock_offset");
    TCase *tcase = tcase_create("times");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, of_a_clock_of_which_nothing_is_known_any_time_may_be_now);
    tcase_add_test(tcase, a_quick_answer_tells_more_than_a_slow_one);
    tcase_add_test(tcase, nothing_was_later_than_now_or_before_all_time);
    tcase_add_test(tcase, what_was_known_long_ago_is_less_sure_and_yields_to_a_slower_answer);
    tcase_add_test(tcase, a_clock_that_stood_still_is_known_anew);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
