/* SPDX-License-Identifier: Apache-2.0 */
/* When nothing has come from the other side for too long. */
#include "launcher/protocol/heartbeat_timeout.h"
#include "tests/support/unit.h"

enum { LIMIT_MS = 5000, LONGEST_MS = 6 * LIMIT_MS };

static struct heartbeat_timeout timeout;
static uint64_t now;

static void setup(void)
{
    now = 1000000;
    heartbeat_timeout_start(&timeout, LIMIT_MS, now);
}

/* Checks in time, as often as `duration_ms` takes: has the timeout expired? */
static bool check_for(uint64_t duration_ms)
{
    for (uint64_t end = now + duration_ms; now < end;) {
        now += HEARTBEAT_CHECK_MS;
        if (heartbeat_timeout_check(&timeout, now))
            return true;
    }
    return false;
}

START_TEST(the_timeout_expires_at_the_limit)
{
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    ck_assert(check_for(HEARTBEAT_CHECK_MS));
}
END_TEST

START_TEST(whatever_is_heard_begins_it_anew)
{
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    heartbeat_timeout_heard(&timeout, now);
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    ck_assert(check_for(HEARTBEAT_CHECK_MS));
}
END_TEST

START_TEST(an_excuse_gives_the_whole_time_again)
{
    for (int i = 0; i < 100; i++) {
        ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
        heartbeat_timeout_excuse(&timeout, 0, now);
    }
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    ck_assert(check_for(HEARTBEAT_CHECK_MS));
}
END_TEST

/* Excused at every check. */
static bool check_excused_for(uint64_t duration_ms)
{
    for (uint64_t end = now + duration_ms; now < end;) {
        heartbeat_timeout_excuse(&timeout, LONGEST_MS, now);
        if (check_for(HEARTBEAT_CHECK_MS))
            return true;
    }
    return false;
}

START_TEST(an_excuse_goes_so_far_and_begins_anew_when_something_is_heard)
{
    for (int i = 0; i < 2; i++) {
        heartbeat_timeout_heard(&timeout, now);
        ck_assert(!check_excused_for(LONGEST_MS - HEARTBEAT_CHECK_MS));
    }
    ck_assert(check_excused_for(HEARTBEAT_CHECK_MS));
}
END_TEST

START_TEST(an_excuse_from_before_something_was_heard_does_not_count)
{
    ck_assert(!check_excused_for(LONGEST_MS / 2));
    heartbeat_timeout_heard(&timeout, now);
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    ck_assert(check_for(HEARTBEAT_CHECK_MS));
}
END_TEST

START_TEST(without_a_limit_it_is_never_too_long)
{
    heartbeat_timeout_start(&timeout, 0, now);
    ck_assert(!check_for(10 * LIMIT_MS));
}
END_TEST

START_TEST(a_watch_that_was_frozen_gives_the_whole_time_again)
{
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    now += 20000;
    ck_assert(!heartbeat_timeout_check(&timeout, now));
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    ck_assert(check_for(HEARTBEAT_CHECK_MS));
}
END_TEST

START_TEST(nobody_was_silent_while_the_watch_was_frozen)
{
    ck_assert(!check_for(1000));
    ck_assert_uint_eq(heartbeat_timeout_elapsed_ms(&timeout, now + HEARTBEAT_LATE_MS),
                      1000 + HEARTBEAT_LATE_MS);
    now += 20000;
    ck_assert_uint_eq(heartbeat_timeout_elapsed_ms(&timeout, now), 0);
    ck_assert(!heartbeat_timeout_check(&timeout, now));
    ck_assert(!check_for(1000));
    ck_assert_uint_eq(heartbeat_timeout_elapsed_ms(&timeout, now), 1000);
}
END_TEST

START_TEST(a_check_that_is_a_little_late_counts)
{
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    now += HEARTBEAT_CHECK_MS + HEARTBEAT_LATE_MS;
    ck_assert(heartbeat_timeout_check(&timeout, now));
}
END_TEST

START_TEST(a_pause_lasts_until_its_end_and_gives_the_whole_time_again)
{
    heartbeat_timeout_pause(&timeout);
    ck_assert(!check_for(10 * LIMIT_MS));
    heartbeat_timeout_heard(&timeout, now);
    ck_assert(!check_for(10 * LIMIT_MS));
    heartbeat_timeout_resume(&timeout, now);
    ck_assert(!check_for(LIMIT_MS - HEARTBEAT_CHECK_MS));
    ck_assert(check_for(HEARTBEAT_CHECK_MS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("heartbeat_timeout");
    TCase *tcase = tcase_create("heartbeat_timeout");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, the_timeout_expires_at_the_limit);
    tcase_add_test(tcase, whatever_is_heard_begins_it_anew);
    tcase_add_test(tcase, an_excuse_gives_the_whole_time_again);
    tcase_add_test(tcase, an_excuse_goes_so_far_and_begins_anew_when_something_is_heard);
    tcase_add_test(tcase, an_excuse_from_before_something_was_heard_does_not_count);
    tcase_add_test(tcase, without_a_limit_it_is_never_too_long);
    tcase_add_test(tcase, a_watch_that_was_frozen_gives_the_whole_time_again);
    tcase_add_test(tcase, nobody_was_silent_while_the_watch_was_frozen);
    tcase_add_test(tcase, a_check_that_is_a_little_late_counts);
    tcase_add_test(tcase, a_pause_lasts_until_its_end_and_gives_the_whole_time_again);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
