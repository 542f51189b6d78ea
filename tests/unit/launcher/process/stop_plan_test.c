/* SPDX-License-Identifier: Apache-2.0 */
/* How processes are brought to an end, with time as an argument. */
#include "launcher/process/stop_plan.h"
#include "tests/support/unit.h"

#include <signal.h>

static struct stop_plan plan;

static void setup(void)
{
    plan = (struct stop_plan){ 0 };
}

START_TEST(nothing_is_signalled_before_somebody_asks)
{
    ck_assert_int_eq(stop_plan_advance(&plan, 1000000), 0);
}
END_TEST

START_TEST(sigterm_then_after_the_grace_sigkill_until_given_up)
{
    ck_assert_int_eq(stop_plan_ask(&plan, SIGTERM, 5000, 100), SIGTERM);
    ck_assert_int_eq(stop_plan_advance(&plan, 5099), 0);
    ck_assert_int_eq(stop_plan_advance(&plan, 5100), SIGKILL);
    ck_assert_int_eq(stop_plan_advance(&plan, 5120), SIGKILL);
    ck_assert_int_eq(stop_plan_advance(&plan, 5100 + STOP_KILL_MS), 0);
    ck_assert_int_eq(plan.phase, STOP_GIVEN_UP);
}
END_TEST

START_TEST(who_ignores_sigint_gets_sigterm_before_sigkill)
{
    ck_assert_int_eq(stop_plan_ask(&plan, SIGINT, 5000, 0), SIGINT);
    ck_assert_int_eq(stop_plan_advance(&plan, 5000), SIGTERM);
    ck_assert_int_eq(stop_plan_advance(&plan, 5000 + STOP_INSIST_MS - 1), 0);
    ck_assert_int_eq(stop_plan_advance(&plan, 5000 + STOP_INSIST_MS), SIGKILL);
}
END_TEST

START_TEST(no_grace_is_sigkill_at_the_next_check)
{
    ck_assert_int_eq(stop_plan_ask(&plan, SIGTERM, 0, 7), SIGTERM);
    ck_assert_int_eq(stop_plan_advance(&plan, 7), SIGKILL);
}
END_TEST

START_TEST(sigkill_is_sent_at_once)
{
    stop_plan_ask(&plan, SIGINT, 5000, 0);
    ck_assert_int_eq(stop_plan_ask(&plan, SIGKILL, 5000, 10), SIGKILL);
    ck_assert_int_eq(plan.phase, STOP_KILLING);
}
END_TEST

START_TEST(a_harsher_request_shortens_the_grace_and_a_milder_one_does_not_lengthen_it)
{
    stop_plan_ask(&plan, SIGINT, 5000, 0);
    ck_assert_int_eq(stop_plan_ask(&plan, SIGTERM, 1000, 100), SIGTERM);
    ck_assert_uint_eq(plan.phase_ends_ms, 1100);
    ck_assert_int_eq(stop_plan_ask(&plan, SIGTERM, 9000, 200), 0);
    ck_assert_uint_eq(plan.phase_ends_ms, 1100);
    ck_assert_int_eq(stop_plan_advance(&plan, 1100), SIGKILL);
    ck_assert_int_eq(stop_plan_ask(&plan, SIGTERM, 9000, 1200), 0);
    ck_assert_int_eq(plan.phase, STOP_KILLING);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stop_plan");
    TCase *tcase = tcase_create("plan");
    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, nothing_is_signalled_before_somebody_asks);
    tcase_add_test(tcase, sigterm_then_after_the_grace_sigkill_until_given_up);
    tcase_add_test(tcase, who_ignores_sigint_gets_sigterm_before_sigkill);
    tcase_add_test(tcase, no_grace_is_sigkill_at_the_next_check);
    tcase_add_test(tcase, sigkill_is_sent_at_once);
    tcase_add_test(tcase,
                   a_harsher_request_shortens_the_grace_and_a_milder_one_does_not_lengthen_it);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
