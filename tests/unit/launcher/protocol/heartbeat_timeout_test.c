/* SPDX-License-Identifier: Apache-2.0 */
/* When the silence of the other side has lasted too long. */
#include "launcher/protocol/heartbeat_timeout.h"
#include "tests/support/unit.h"

enum { LIMIT_MS = 5000, LONGEST_MS = 6 * LIMIT_MS };

static struct silence silence;
static uint64_t now;

static void setup(void)
{
    now = 1000000;
    silence_start(&silence, LIMIT_MS, now);
}

/* Looks in time, as often as `duration_ms` takes: has it become too long? */
static bool look_for(uint64_t duration_ms)
{
    for (uint64_t end = now + duration_ms; now < end;) {
        now += SILENCE_LOOK_MS;
        if (silence_look(&silence, now))
            return true;
    }
    return false;
}

START_TEST(silence_is_too_long_at_the_limit)
{
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    ck_assert(look_for(SILENCE_LOOK_MS));
}
END_TEST

START_TEST(whatever_is_heard_begins_it_anew)
{
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    silence_heard(&silence, now);
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    ck_assert(look_for(SILENCE_LOOK_MS));
}
END_TEST

START_TEST(an_excuse_gives_the_whole_time_again)
{
    for (int i = 0; i < 100; i++) {
        ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
        silence_excuse(&silence, 0, now);
    }
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    ck_assert(look_for(SILENCE_LOOK_MS));
}
END_TEST

/* Excused at every look. */
static bool look_excused_for(uint64_t duration_ms)
{
    for (uint64_t end = now + duration_ms; now < end;) {
        silence_excuse(&silence, LONGEST_MS, now);
        if (look_for(SILENCE_LOOK_MS))
            return true;
    }
    return false;
}

START_TEST(an_excuse_goes_so_far_and_begins_anew_when_something_is_heard)
{
    for (int i = 0; i < 2; i++) {
        silence_heard(&silence, now);
        ck_assert(!look_excused_for(LONGEST_MS - SILENCE_LOOK_MS));
    }
    ck_assert(look_excused_for(SILENCE_LOOK_MS));
}
END_TEST

START_TEST(an_excuse_from_before_something_was_heard_does_not_count)
{
    ck_assert(!look_excused_for(LONGEST_MS / 2));
    silence_heard(&silence, now);
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    ck_assert(look_for(SILENCE_LOOK_MS));
}
END_TEST

START_TEST(without_a_limit_it_is_never_too_long)
{
    silence_start(&silence, 0, now);
    ck_assert(!look_for(10 * LIMIT_MS));
}
END_TEST

START_TEST(a_watch_that_was_frozen_gives_the_whole_time_again)
{
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    now += 20000;
    ck_assert(!silence_look(&silence, now));
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    ck_assert(look_for(SILENCE_LOOK_MS));
}
END_TEST

START_TEST(nobody_was_silent_while_the_watch_was_frozen)
{
    ck_assert(!look_for(1000));
    ck_assert_uint_eq(silence_lasts_ms(&silence, now + SILENCE_LATE_MS), 1000 + SILENCE_LATE_MS);
    now += 20000;
    ck_assert_uint_eq(silence_lasts_ms(&silence, now), 0);
    ck_assert(!silence_look(&silence, now));
    ck_assert(!look_for(1000));
    ck_assert_uint_eq(silence_lasts_ms(&silence, now), 1000);
}
END_TEST

START_TEST(a_look_that_is_a_little_late_counts)
{
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    now += SILENCE_LOOK_MS + SILENCE_LATE_MS;
    ck_assert(silence_look(&silence, now));
}
END_TEST

START_TEST(a_pause_lasts_until_its_end_and_gives_the_whole_time_again)
{
    silence_pause(&silence);
    ck_assert(!look_for(10 * LIMIT_MS));
    silence_heard(&silence, now);
    ck_assert(!look_for(10 * LIMIT_MS));
    silence_resume(&silence, now);
    ck_assert(!look_for(LIMIT_MS - SILENCE_LOOK_MS));
    ck_assert(look_for(SILENCE_LOOK_MS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("silence");
    TCase *tcase = tcase_create("silence");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, silence_is_too_long_at_the_limit);
    tcase_add_test(tcase, whatever_is_heard_begins_it_anew);
    tcase_add_test(tcase, an_excuse_gives_the_whole_time_again);
    tcase_add_test(tcase, an_excuse_goes_so_far_and_begins_anew_when_something_is_heard);
    tcase_add_test(tcase, an_excuse_from_before_something_was_heard_does_not_count);
    tcase_add_test(tcase, without_a_limit_it_is_never_too_long);
    tcase_add_test(tcase, a_watch_that_was_frozen_gives_the_whole_time_again);
    tcase_add_test(tcase, nobody_was_silent_while_the_watch_was_frozen);
    tcase_add_test(tcase, a_look_that_is_a_little_late_counts);
    tcase_add_test(tcase, a_pause_lasts_until_its_end_and_gives_the_whole_time_again);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
