/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs: when hvdrun names the ranks for which the next world waits. */
#include "tests/support/elastic_plan_fixture.h"

/* Warns after a minute, and ends the job after ten. */
static const struct elastic_options patient = {
    .np = 3, .min = 2, .max = 4, .timeout_ms = 600000, .warning_ms = 60000
};

/* Of three workers on two hosts, rank 0 waits for the first world. */
static void begin_with_one_of_three(const struct elastic_options *options)
{
    begin(options);
    hosts("a:2,b:1");
    EXPECT("+a:0,1 +b:2 =0,1,2");
    waits(0);
    EXPECT("");
}

START_TEST(ranks_that_have_not_called_hvd_init_are_named_after_the_time_of_a_stall)
{
    begin_with_one_of_three(&patient);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 61000);
    pass(59999);
    EXPECT("");
    pass(1);
    EXPECT("warn no world for 60 s: rank 1 on a, rank 2 on b have not called hvd_init; the job "
           "ends in 540 s (--elastic-timeout)");
    finish();
}
END_TEST

/* Ranks 0 to 2 have left the world, because something has broken; rank 3 has not. */
START_TEST(ranks_that_do_not_come_back_are_named_too)
{
    begin_on_two_hosts(&patient);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), ELASTIC_NEVER);
    for (int worker = 0; worker < 3; worker++)
        waits(worker);
    pass(ELASTIC_HEAR_MS);
    EXPECT("=0,1,2,3");
    pass(60000);
    EXPECT("warn no world for 60 s: rank 3 on b has not called hvd_init; the job ends in 540 s "
           "(--elastic-timeout)");
    waits(3);
    EXPECT("");
    world();
    ck_assert_uint_eq(elastic_plan_next_ms(plan), ELASTIC_NEVER);
    finish();
}
END_TEST

START_TEST(a_late_event_says_how_long_it_has_been_in_fact)
{
    begin_with_one_of_three(&patient);
    pass(60700);
    EXPECT("warn no world for 60 s: rank 1 on a, rank 2 on b have not called hvd_init; the job "
           "ends in 540 s (--elastic-timeout)");
    finish();
}
END_TEST

START_TEST(the_same_ranks_are_named_again_only_after_five_times_as_long)
{
    begin_with_one_of_three(&patient);
    pass(60000);
    ck_assert_ptr_nonnull(strstr(actions(), "warn "));
    pass(60000);
    EXPECT("");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 361000);
    pass(239999);
    EXPECT("");
    pass(1);
    EXPECT("warn no world for 360 s: rank 1 on a, rank 2 on b have not called hvd_init; the job "
           "ends in 240 s (--elastic-timeout)");
    finish();
}
END_TEST

START_TEST(other_ranks_are_named_a_minute_after_the_line_before)
{
    begin_with_one_of_three(&patient);
    pass(60000);
    ck_assert_ptr_nonnull(strstr(actions(), "warn "));
    pass(20000);
    waits(1);
    EXPECT("");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 121000);
    pass(40000);
    EXPECT("warn no world for 120 s: rank 2 on b has not called hvd_init; the job ends in 480 s "
           "(--elastic-timeout)");
    finish();
}
END_TEST

START_TEST(nothing_is_said_and_no_time_is_waited_for_once_all_have_come)
{
    begin_with_one_of_three(&patient);
    waits(1);
    waits(2);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 601000); /* the limit of the world itself */
    pass(60000);
    EXPECT("");
    world();
    ck_assert_uint_eq(elastic_plan_next_ms(plan), ELASTIC_NEVER);
    finish();
}
END_TEST

/* The line about slots is the caller's, from elastic_plan_waits_for(). */
START_TEST(ranks_are_not_named_while_slots_are_missing)
{
    struct elastic_options options = patient;
    options.cooldown_low_ms = options.cooldown_high_ms = 1000000;
    begin(&options);
    hosts("a:2,b:1");
    EXPECT("+a:0,1 +b:2 =0,1,2");
    fails(0);
    fails(1);
    ck_assert_ptr_nonnull(elastic_plan_waits_for(plan));
    actions();
    pass(60000);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(without_stall_checks_nothing_is_said)
{
    struct elastic_options options = patient;
    options.warning_ms = 0;
    begin_with_one_of_three(&options);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 601000);
    pass(599999);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_job_that_ends_by_then_says_why_and_nothing_before)
{
    struct elastic_options options = patient;
    options.timeout_ms = options.warning_ms;
    begin_with_one_of_three(&options);
    pass(60000);
    EXPECT("fail no world within 60 s (--elastic-timeout): rank 1 on a, rank 2 on b have not "
           "called hvd_init");
    finish();
}
END_TEST

/* Ranks are counted where their names do not fit. */
START_TEST(the_time_that_is_left_is_not_cut)
{
    char list[300];
    for (int i = 0; i < 252; i++)
        list[i] = i % 63 == 62 ? '.' : 'h';
    strcpy(list + 251, ":3");
    begin(&patient);
    hosts(list);
    actions();
    pass(60000);
    EXPECT("warn no world for 60 s: 3 ranks have not called hvd_init; the job ends in 540 s "
           "(--elastic-timeout)");
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_plan_missing");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, ranks_that_have_not_called_hvd_init_are_named_after_the_time_of_a_stall);
    tcase_add_test(rules, ranks_that_do_not_come_back_are_named_too);
    tcase_add_test(rules, a_late_event_says_how_long_it_has_been_in_fact);
    tcase_add_test(rules, the_same_ranks_are_named_again_only_after_five_times_as_long);
    tcase_add_test(rules, other_ranks_are_named_a_minute_after_the_line_before);
    tcase_add_test(rules, nothing_is_said_and_no_time_is_waited_for_once_all_have_come);
    tcase_add_test(rules, ranks_are_not_named_while_slots_are_missing);
    tcase_add_test(rules, without_stall_checks_nothing_is_said);
    tcase_add_test(rules, a_job_that_ends_by_then_says_why_and_nothing_before);
    tcase_add_test(rules, the_time_that_is_left_is_not_cut);
    suite_add_tcase(suite, rules);
    return unit_run(suite);
}
