/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which a process ran: checks in time count as they are, and one that is late as one. */
#include "launcher/base/ran_time.h"
#include "tests/support/unit.h"

enum { EVERY_MS = 250 };

static const struct {
    uint64_t passed_ms, counts_ms;
} checks[] = {
    { 0, 0 },
    { EVERY_MS, EVERY_MS },
    { EVERY_MS + RAN_TIME_LATE_MS, EVERY_MS + RAN_TIME_LATE_MS },
    { EVERY_MS + RAN_TIME_LATE_MS + 1, EVERY_MS },
    { 3600000, EVERY_MS },
};

START_TEST(a_check_that_is_late_counts_as_one_interval)
{
    uint64_t checked_ms = 1000, now_ms = 1000 + checks[_i].passed_ms;
    ck_assert_uint_eq(ran_time_check(&checked_ms, EVERY_MS, now_ms), checks[_i].counts_ms);
    ck_assert_uint_eq(checked_ms, now_ms);
}
END_TEST

START_TEST(between_checks_no_more_counts_than_the_next_check_counts)
{
    uint64_t checked_ms = 1000, now_ms = 1000 + checks[_i].passed_ms;
    uint64_t counts_ms = ran_time_since(checked_ms, EVERY_MS, now_ms);
    ck_assert_uint_eq(counts_ms, checks[_i].passed_ms < EVERY_MS ? checks[_i].passed_ms : EVERY_MS);
    ck_assert_uint_le(counts_ms, ran_time_check(&checked_ms, EVERY_MS, now_ms));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ran_time");
    TCase *tcase = tcase_create("checks");
    tcase_add_loop_test(tcase, a_check_that_is_late_counts_as_one_interval, 0,
                        sizeof checks / sizeof *checks);
    tcase_add_loop_test(tcase, between_checks_no_more_counts_than_the_next_check_counts, 0,
                        sizeof checks / sizeof *checks);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
