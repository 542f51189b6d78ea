/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs: when hvdrun names the ranks for which the next world waits, and the
 * workers that do not join the one that runs. */
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
    EXPECT("warn no world for 60 s: rank 1 on a (worker 1), rank 2 on b (worker 2) have not "
           "called hvd_init; the job ends in 540 s (--elastic-timeout)");
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
    EXPECT("warn no world for 60 s: rank 3 on b (worker 3) has not called hvd_init; the job ends "
           "in 540 s (--elastic-timeout)");
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
    EXPECT("warn no world for 60 s: rank 1 on a (worker 1), rank 2 on b (worker 2) have not "
           "called hvd_init; the job ends in 540 s (--elastic-timeout)");
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
    EXPECT("warn no world for 360 s: rank 1 on a (worker 1), rank 2 on b (worker 2) have not "
           "called hvd_init; the job ends in 240 s (--elastic-timeout)");
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
    EXPECT("warn no world for 120 s: rank 2 on b (worker 2) has not called hvd_init; the job "
           "ends in 480 s (--elastic-timeout)");
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
    EXPECT("fail no world within 60 s (--elastic-timeout): rank 1 on a (worker 1), "
           "rank 2 on b (worker 2) have not called hvd_init");
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

/* ---- workers that are to join while the world runs ---- */

/* Three workers are in the world; the fourth was started for a slot that has come. */
static void begin_with_one_to_join(const struct elastic_options *options)
{
    begin(options);
    hosts("a:2,b:1");
    EXPECT("+a:0,1 +b:2 =0,1,2");
    world();
    hosts("a:2,b:2");
    EXPECT("+b:3");
}

START_TEST(a_worker_that_does_not_join_the_world_is_named)
{
    begin_with_one_to_join(&patient);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 61000);
    pass(59999);
    EXPECT("");
    pass(1);
    EXPECT("warn no sign of worker 3 on b for 60 s: it has not called hvd_init; it is given up in "
           "540 s (--elastic-timeout)");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 361000);
    pass(299999);
    EXPECT("");
    pass(1);
    EXPECT("warn no sign of worker 3 on b for 360 s: it has not called hvd_init; it is given up "
           "in 240 s (--elastic-timeout)");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 601000);
    finish();
}
END_TEST

START_TEST(a_worker_that_joins_is_not_named)
{
    begin_with_one_to_join(&patient);
    waits(3);
    EXPECT("=0,1,2,3");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), ELASTIC_NEVER);
    pass(60000);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(without_stall_checks_a_worker_that_does_not_join_is_not_named)
{
    struct elastic_options options = patient;
    options.warning_ms = 0;
    begin_with_one_to_join(&options);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 601000);
    pass(599999);
    EXPECT("");
    finish();
}
END_TEST

/* Of four workers of one host, the second has come. */
START_TEST(workers_that_were_started_together_have_one_line)
{
    static const struct elastic_options options = {
        .np = 1, .min = 1, .max = 9, .timeout_ms = 600000, .warning_ms = 60000
    };
    begin(&options);
    hosts("a:1");
    EXPECT("+a:0 =0");
    world();
    hosts("a:1,b:4,c:1");
    EXPECT("+b:1,2,3,4 +c:5");
    waits(2);
    pass(60000);
    EXPECT("=0,2 warn no sign of workers 1, 3, 4 on b for 60 s: they have not called hvd_init; "
           "they are given up in 540 s (--elastic-timeout) "
           "warn no sign of worker 5 on c for 60 s: it has not called hvd_init; it is given up in "
           "540 s (--elastic-timeout)");
    finish();
}
END_TEST

START_TEST(workers_on_a_host_with_a_long_name_are_counted)
{
    char list[300] = "a:3,";
    for (int i = 0; i < 252; i++)
        list[4 + i] = i % 63 == 62 ? '.' : 'h';
    strcpy(list + 4 + 251, ":1");
    begin(&patient);
    hosts("a:3");
    EXPECT("+a:0,1,2 =0,1,2");
    world();
    hosts(list);
    actions();
    pass(60000);
    EXPECT("warn no sign of 1 worker for 60 s: it has not called hvd_init; it is given up in "
           "540 s (--elastic-timeout)");
    finish();
}
END_TEST

/* Rank 0 has left the world at 59 s. */
START_TEST(a_worker_is_named_later_while_the_others_wait_for_a_world)
{
    begin_with_one_to_join(&patient);
    pass(59000);
    waits(0);
    pass(ELASTIC_HEAR_MS);
    EXPECT("=0,1,2");
    pass(1000);
    EXPECT("");
    world();
    EXPECT("warn no sign of worker 3 on b for 60 s: it has not called hvd_init; it is given up in "
           "540 s (--elastic-timeout)");
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
    tcase_add_test(rules, a_worker_that_does_not_join_the_world_is_named);
    tcase_add_test(rules, a_worker_that_joins_is_not_named);
    tcase_add_test(rules, without_stall_checks_a_worker_that_does_not_join_is_not_named);
    tcase_add_test(rules, workers_that_were_started_together_have_one_line);
    tcase_add_test(rules, workers_on_a_host_with_a_long_name_are_counted);
    tcase_add_test(rules, a_worker_is_named_later_while_the_others_wait_for_a_world);
    suite_add_tcase(suite, rules);
    return unit_run(suite);
}
