/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs: members of the last world that do not come to the next one. Four
 * workers are on four hosts, and the shutdown time of the stall check is 60 s. */
#include "tests/support/elastic_plan_fixture.h"

static const struct elastic_options patient_for_a_minute = {
    .np = 2, .min = 2, .max = 4, .timeout_ms = 600000, .shutdown_ms = 60000
};

#define ABSENT                                                                                     \
    " has not come to the next world, where others have waited 60 s "                              \
    "(--stall-check-shutdown-time-seconds)"
#define STALLED "allreduce 'a' has waited 60 s for rank 1"

static void begin_on_four_hosts(const struct elastic_options *options)
{
    begin(options);
    hosts("a:1,b:1,c:1,d:1");
    EXPECT("+a:0 +b:1 +c:2 +d:3 =0,1,2,3");
    world();
    EXPECT("");
}

static void is_late(int worker)
{
    elastic_plan_on_late(plan, &worker, 1, STALLED, now_ms);
}

START_TEST(a_member_for_which_another_has_waited_is_given_up)
{
    begin_on_four_hosts(&patient_for_a_minute);
    fails(0);
    EXPECT("=1,2,3");
    waits(1);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + 60000);
    pass(1000);
    waits(2);
    pass(58999);
    EXPECT("");
    pass(1);
    EXPECT("lost 3" ABSENT " -3 =1,2 !3");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms - 60000 + 600000);
    world();
    fails(3);
    EXPECT("");
    finish();
}
END_TEST

/* Rank 0 has named as many as fit. */
START_TEST(ranks_that_hang_and_were_not_named_are_given_up_together)
{
    begin_on_four_hosts(&patient_for_a_minute);
    is_late(1);
    EXPECT("lost 1 " STALLED " -1 =0,2,3 !1");
    waits(0);
    pass(60000);
    ck_assert_str_eq(actions(), "lost 2" ABSENT " -2 lost 3" ABSENT " -3 !2 !3");
    finish();
}
END_TEST

START_TEST(members_for_which_nobody_waits_have_time)
{
    begin_on_four_hosts(&patient_for_a_minute);
    fails(0);
    EXPECT("=1,2,3");
    waits(1);
    pass(30000);
    fails(1);
    EXPECT("=2,3");
    pass(60000);
    waits(2);
    pass(59999);
    EXPECT("");
    pass(1);
    ck_assert_ptr_nonnull(strstr(actions(), "lost 3" ABSENT " -3"));
    finish();
}
END_TEST

START_TEST(without_a_shutdown_time_members_have_the_time_of_the_world)
{
    struct elastic_options options = patient_for_a_minute;
    options.shutdown_ms = 0;
    begin_on_four_hosts(&options);
    fails(0);
    EXPECT("=1,2,3");
    waits(1);
    waits(2);
    pass(599999);
    EXPECT("");
    pass(1);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 2 on d (worker 3) has not called "
           "hvd_init");
    finish();
}
END_TEST

START_TEST(a_new_worker_has_the_time_of_the_world)
{
    struct elastic_options options = patient_for_a_minute;
    options.cooldown_low_ms = options.cooldown_high_ms = 1000;
    begin_on_one_host(&options);
    fails(1);
    pass(1000);
    EXPECT("+a:2 =0,2");
    waits(0);
    pass(599999);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_member_that_does_not_leave_a_world_which_others_have_left_is_given_up)
{
    begin_on_four_hosts(&patient_for_a_minute);
    waits(0);
    waits(1);
    pass(ELASTIC_HEAR_MS);
    EXPECT("=0,1,2,3");
    waits(2);
    pass(60000 - ELASTIC_HEAR_MS);
    EXPECT("lost 3" ABSENT " -3 =0,1,2 !3");
    finish();
}
END_TEST

/* The host of worker 1 has another worker, which waits. */
START_TEST(a_host_where_another_worker_waits_stays_in_use)
{
    begin(&patient_for_a_minute);
    hosts("a:2,b:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    world();
    is_late(3);
    EXPECT("lost 3 " STALLED " -3 =0,1,2 !3");
    waits(0);
    waits(2);
    pass(60000);
    EXPECT("lost 1" ABSENT " -1 =0,2 !1");
    finish();
}
END_TEST

/* It hung until just before it was named. */
START_TEST(a_late_rank_that_has_come_to_the_next_world_stays)
{
    begin_on_four_hosts(&patient_for_a_minute);
    waits(1);
    is_late(1);
    EXPECT("");
    pass(ELASTIC_HEAR_MS);
    EXPECT("=0,1,2,3");
    finish();
}
END_TEST

START_TEST(the_others_of_the_late_ranks_are_given_up_then)
{
    begin_on_four_hosts(&patient_for_a_minute);
    waits(1);
    elastic_plan_on_late(plan, (int[]){ 1, 2 }, 2, STALLED, now_ms);
    EXPECT("lost 2 " STALLED " -2 =0,1,3 !2");
    finish();
}
END_TEST

START_TEST(a_warning_says_when_the_missing_ranks_are_given_up)
{
    struct elastic_options options = patient_for_a_minute;
    options.warning_ms = 10000;
    begin_on_four_hosts(&options);
    fails(0);
    EXPECT("=1,2,3");
    waits(1);
    waits(2);
    pass(10000);
    EXPECT("warn no world for 10 s: rank 2 on d (worker 3) has not called hvd_init; ranks of the "
           "last world are given up in 50 s (--stall-check-shutdown-time-seconds)");
    finish();
}
END_TEST

/* Rank 0 has failed, no slot is left for another worker, and rank 1 waits. */
static void begin_with_too_few(uint64_t warning_ms, uint64_t timeout_ms)
{
    struct elastic_options options = patient_for_a_minute;
    options.np = options.min = options.max = 3;
    options.warning_ms = warning_ms;
    options.timeout_ms = timeout_ms;
    begin(&options);
    hosts("a:1,b:1,c:1");
    EXPECT("+a:0 +b:1 +c:2 =0,1,2");
    world();
    fails(0);
    waits(1);
    EXPECT("");
}

START_TEST(a_member_is_given_up_too_while_the_ranks_that_are_left_are_too_few)
{
    begin_with_too_few(0, 600000);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + 60000);
    pass(60000);
    EXPECT("lost 2" ABSENT " -2 !2");
    finish();
}
END_TEST

START_TEST(a_warning_names_the_member_before_also_while_slots_are_missing)
{
    begin_with_too_few(20000, 600000);
    ck_assert_ptr_nonnull(elastic_plan_waits_for(plan));
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + 20000);
    pass(19999);
    EXPECT("");
    pass(1);
    EXPECT("warn no world for 20 s: rank 2 on c (worker 2) has not called hvd_init; ranks of the "
           "last world are given up in 40 s (--stall-check-shutdown-time-seconds)");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + 40000);
    pass(40000);
    EXPECT("lost 2" ABSENT " -2 !2");
    pass(400000);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_member_that_comes_while_slots_are_missing_is_not_named)
{
    begin_with_too_few(20000, 600000);
    pass(19999);
    waits(2);
    pass(1);
    EXPECT("");
    pass(500000);
    EXPECT("");
    finish();
}
END_TEST

/* The job ends first, and its last line says why. */
START_TEST(a_member_that_will_not_be_given_up_is_not_named_while_slots_are_missing)
{
    begin_with_too_few(20000, 50000);
    pass(49999);
    EXPECT("");
    pass(1);
    ck_assert_ptr_nonnull(strstr(actions(), "fail too few slots for 50 s (--elastic-timeout)"));
    finish();
}
END_TEST

/* hvdrun decides later when its machine is busy. */
START_TEST(the_line_says_how_long_the_others_have_waited_in_fact)
{
    begin_on_four_hosts(&patient_for_a_minute);
    fails(0);
    EXPECT("=1,2,3");
    waits(1);
    waits(2);
    pass(65999);
    ck_assert_ptr_nonnull(strstr(actions(), "where others have waited 65 s (--stall-check"));
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_plan_absent");
    TCase *tcase = tcase_create("absent");
    tcase_add_test(tcase, a_member_for_which_another_has_waited_is_given_up);
    tcase_add_test(tcase, ranks_that_hang_and_were_not_named_are_given_up_together);
    tcase_add_test(tcase, members_for_which_nobody_waits_have_time);
    tcase_add_test(tcase, without_a_shutdown_time_members_have_the_time_of_the_world);
    tcase_add_test(tcase, a_new_worker_has_the_time_of_the_world);
    tcase_add_test(tcase, a_member_that_does_not_leave_a_world_which_others_have_left_is_given_up);
    tcase_add_test(tcase, a_host_where_another_worker_waits_stays_in_use);
    tcase_add_test(tcase, a_late_rank_that_has_come_to_the_next_world_stays);
    tcase_add_test(tcase, the_others_of_the_late_ranks_are_given_up_then);
    tcase_add_test(tcase, a_warning_says_when_the_missing_ranks_are_given_up);
    tcase_add_test(tcase, a_member_is_given_up_too_while_the_ranks_that_are_left_are_too_few);
    tcase_add_test(tcase, a_warning_names_the_member_before_also_while_slots_are_missing);
    tcase_add_test(tcase, a_member_that_comes_while_slots_are_missing_is_not_named);
    tcase_add_test(tcase, a_member_that_will_not_be_given_up_is_not_named_while_slots_are_missing);
    tcase_add_test(tcase, the_line_says_how_long_the_others_have_waited_in_fact);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
