/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs: ranks and slots that do not come in time, and the line that names
 * them. */
#include "tests/support/elastic_plan_fixture.h"

START_TEST(the_slots_that_are_needed_name_the_option_that_was_given)
{
    struct elastic_options options = two_to_four;
    options.np_is_min = true;
    begin(&options);
    hosts("");
    ck_assert_str_eq(elastic_plan_waits_for(plan),
                     "waiting for slots: 0 slots on 0 hosts, 2 needed (--min-np)");
    pass(600000);
    EXPECT("fail too few slots for 600 s (--elastic-timeout): 0 slots on 0 hosts, and 2 are needed "
           "(--min-np)");
    finish();
}
END_TEST

/* A job of a script with -np alone. */
START_TEST(an_option_that_was_not_given_is_not_named_after_a_loss_either)
{
    struct elastic_options options = two_to_four;
    options.min_is_np = true;
    begin_on_one_host(&options);
    fails(0);
    ck_assert_str_eq(elastic_plan_waits_for(plan),
                     "waiting for slots: 1 slot on 1 host, 2 needed (-np)");
    pass(600000);
    EXPECT("fail too few slots for 600 s (--elastic-timeout): 1 slot on 1 host, and 2 are needed "
           "(-np)");
    finish();
}
END_TEST

START_TEST(too_few_ranks_that_finish_name_the_option_that_was_given)
{
    struct elastic_options options = two_to_four;
    options.min_is_np = true;
    begin_on_one_host(&options);
    finishes(0);
    fails(1);
    EXPECT("fail only 1 rank finished, and 2 are needed (-np)");
    finish();
}
END_TEST

START_TEST(slots_that_never_come_end_the_job)
{
    begin(&two_to_four);
    hosts("a:1");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 601000);
    pass(599999);
    EXPECT("");
    pass(1);
    EXPECT("fail too few slots for 600 s (--elastic-timeout): 1 slot on 1 host, and 2 are needed "
           "(-np)");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), ELASTIC_NEVER);
    finish();
}
END_TEST

START_TEST(ranks_that_never_come_end_the_job)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    waits(0);
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 1 on a (worker 1) has not called "
           "hvd_init");
    finish();
}
END_TEST

START_TEST(a_rank_that_does_not_come_back_is_named)
{
    begin_on_two_hosts(&two_to_four);
    for (int worker = 0; worker < 3; worker++)
        waits(worker);
    pass(ELASTIC_HEAR_MS);
    EXPECT("=0,1,2,3");
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 3 on b (worker 3) has not called "
           "hvd_init");
    finish();
}
END_TEST

static const struct elastic_options two_that_cool_down = { .np = 2,
                                                           .min = 2,
                                                           .max = 2,
                                                           .timeout_ms = 600000,
                                                           .cooldown_low_ms = 1000,
                                                           .cooldown_high_ms = 1000 };

/* Of two workers, one has come. */
static void begin_with_one_of_two(void)
{
    begin(&two_that_cool_down);
    hosts("a:1,b:1");
    EXPECT("+a:0 +b:1 =0,1");
    waits(0);
}

START_TEST(a_worker_that_is_started_again_and_again_does_not_put_off_the_timeout)
{
    begin_with_one_of_two();
    int worker = 1;
    while (now_ms < 1000 + two_that_cool_down.timeout_ms) {
        fails(worker++);
        EXPECT("");
        pass(1000);
        if (now_ms < 1000 + two_that_cool_down.timeout_ms)
            ck_assert_ptr_nonnull(strstr(actions(), "+b:"));
    }
    ck_assert_ptr_nonnull(strstr(actions(), "(--elastic-timeout): rank 1 on b (worker "));
    finish();
}
END_TEST

START_TEST(the_first_world_does_not_wait_for_those_that_replace_lost_ones)
{
    begin(&two_to_four);
    hosts("a:2,b:2,c:2,d:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    waits(0);
    fails(2);
    EXPECT("-3 +c:4,5 =0,1");
    fails(3);
    fails(4);
    EXPECT("-5 +d:6,7");
    waits(1);
    EXPECT("");
    world();
    waits(6);
    waits(7);
    EXPECT("=0,1,6,7");
    finish();
}
END_TEST

START_TEST(replacements_that_have_come_are_in_the_first_world)
{
    begin(&two_to_four);
    hosts("a:2,b:2,c:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    fails(2);
    fails(3);
    waits(4);
    waits(0);
    ck_assert_ptr_nonnull(strstr(actions(), "=0,1,4"));
    waits(5);
    EXPECT("=0,1,4,5");
    finish();
}
END_TEST

/* The slot is lost half a second before the time is up. */
START_TEST(a_slot_lost_just_before_the_timeout_was_not_missing_all_the_time)
{
    begin_with_one_of_two();
    pass(599500);
    fails(1);
    pass(500);
    EXPECT("fail no world within 600 s (--elastic-timeout): 1 slot on 1 host, and 2 are needed "
           "(--min-np)");
    finish();
}
END_TEST

/* The line has room for some hosts; the rest is counted. */
START_TEST(many_hosts_whose_ranks_do_not_come_are_counted)
{
    static const struct elastic_options options = {
        .np = 60, .min = 60, .max = 60, .timeout_ms = 600000
    };
    char list[600] = "";
    for (int i = 0; i < 30; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%snode-number-%02d:2",
                 i ? "," : "", i);
    begin(&options);
    hosts(list);
    pass(600000);
    const char *failure = strstr(actions(), "fail ");
    ck_assert_str_eq(failure, "fail no world within 600 s (--elastic-timeout): "
                              "ranks 0, 1 on node-number-00 (workers 0, 1), "
                              "ranks 2, 3 on node-number-01 (workers 2, 3), "
                              "ranks 4, 5 on node-number-02 (workers 4, 5), "
                              "ranks 6, 7 on node-number-03 (workers 6, 7) and 52 others "
                              "have not called hvd_init");
    finish();
}
END_TEST

/* The name of the first host leaves room for hardly more. */
START_TEST(the_number_of_other_ranks_is_not_cut)
{
    static const struct elastic_options options = {
        .np = 3, .min = 3, .max = 3, .timeout_ms = 600000
    };
    char name[171], list[200], expected[300];
    for (int i = 0; i < 170; i++)
        name[i] = i % 60 == 59 ? '.' : 'h';
    strcpy(name + 169, "h");
    snprintf(list, sizeof list, "%s:1,b:1,c:1", name);
    snprintf(expected, sizeof expected,
             "fail no world within 600 s (--elastic-timeout): rank 0 on %s (worker 0) and 2 others "
             "have not "
             "called hvd_init",
             name);
    begin(&options);
    hosts(list);
    pass(600000);
    ck_assert_str_eq(strstr(actions(), "fail "), expected);
    finish();
}
END_TEST

START_TEST(ranks_on_a_host_with_a_long_name_are_counted)
{
    char list[300];
    for (int i = 0; i < 252; i++)
        list[i] = i % 63 == 62 ? '.' : 'h';
    strcpy(list + 251, ":2");
    begin(&two_to_four);
    hosts(list);
    pass(600000);
    ck_assert_str_eq(
        strstr(actions(), "fail "),
        "fail no world within 600 s (--elastic-timeout): 2 ranks have not called hvd_init");
    finish();
}
END_TEST

/* ---- workers that do not join the world that runs ---- */

#define LATE " has not called hvd_init within 600 s (--elastic-timeout)"

START_TEST(a_worker_that_never_joins_is_given_up_and_the_world_runs_on)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:1");
    EXPECT("+b:2");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), 601000);
    pass(599999);
    EXPECT("");
    pass(1);
    EXPECT("lost 2" LATE " -2 !2");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), ELASTIC_NEVER);
    fails(2);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(after_the_cool_down_its_slot_has_another_worker)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = options.cooldown_high_ms = 10000;
    begin_on_one_host(&options);
    hosts("a:3");
    EXPECT("+a:2");
    pass(600000);
    EXPECT("lost 2" LATE " -2 !2");
    fails(2);
    pass(9999);
    EXPECT("");
    pass(1);
    EXPECT("+a:3");
    waits(3);
    EXPECT("=0,1,3");
    finish();
}
END_TEST

/* Worker 2 has come; 3 and 4 have not. */
START_TEST(all_workers_that_are_late_are_lost_and_those_that_came_are_not)
{
    static const struct elastic_options options = {
        .np = 2, .min = 2, .max = 6, .timeout_ms = 600000
    };
    begin_on_one_host(&options);
    hosts("a:2,b:1,c:2");
    EXPECT("+b:2 +c:3,4");
    waits(2);
    pass(ELASTIC_GATHER_MS);
    EXPECT("=0,1,2");
    world();
    pass(600000 - ELASTIC_GATHER_MS);
    EXPECT("lost 3" LATE " -3 lost 4" LATE " -4 !3 !4");
    finish();
}
END_TEST

/* That world has the limit itself. */
START_TEST(a_worker_without_which_there_is_no_world_is_not_given_up)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = options.cooldown_high_ms = 1000;
    begin_on_one_host(&options);
    fails(1);
    pass(1000);
    EXPECT("+a:2 =0,2");
    waits(0);
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 1 on a (worker 2) has not called "
           "hvd_init");
    finish();
}
END_TEST

/* Horovod's own workers would wait for all that were started with them. */
START_TEST(a_late_worker_with_a_fixed_place_does_not_hold_up_the_others)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    comes_with_fixed_place(0);
    comes_with_fixed_place(1);
    world();
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    comes_with_fixed_place(3);
    pass(600000);
    EXPECT("lost 2" LATE " -2 -3 !2 !3");
    fails(2);
    fails(3);
    EXPECT("+c:4");
    comes_with_fixed_place(4);
    EXPECT("=0,1,4");
    finish();
}
END_TEST

#define STALLED "allreduce 'a' has waited 60 s for rank 1"

static void is_late(int worker)
{
    elastic_plan_on_late(plan, &worker, 1, STALLED, now_ms);
}

static void are_late(int worker, int other)
{
    elastic_plan_on_late(plan, (int[]){ worker, other }, 2, STALLED, now_ms);
}

START_TEST(a_rank_that_does_not_submit_is_lost_and_those_that_waited_are_not)
{
    struct elastic_options options = two_to_four;
    options.min = 1;
    begin_on_one_host(&options);
    is_late(1);
    EXPECT("lost 1 " STALLED " -1 =0 !1");
    waits(0);
    EXPECT("");
    world();
    fails(1); /* it was stopped */
    EXPECT("");
    finishes(0);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(a_rank_of_which_all_others_say_so_is_lost_once)
{
    begin_on_two_hosts(&two_to_four);
    is_late(3);
    EXPECT("lost 3 " STALLED " -3 =0,1,2 !3");
    is_late(3);
    is_late(3);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(the_words_about_a_late_rank_are_not_cut)
{
    char words[RANK_END_WORDS_SIZE], expected[RANK_END_WORDS_SIZE + 40];
    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    snprintf(expected, sizeof expected, "lost 1 %s -1 !1", words);
    begin_on_one_host(&two_to_four);
    elastic_plan_on_late(plan, (int[]){ 1 }, 1, words, now_ms);
    EXPECT(expected);
    finish();
}
END_TEST

START_TEST(ranks_that_hang_at_once_are_lost_at_once)
{
    begin_on_two_hosts(&two_to_four);
    are_late(1, 2);
    EXPECT("lost 1 " STALLED " -1 lost 2 " STALLED " -2 =0,3 !1 !2");
    are_late(1, 2);
    EXPECT("");
    waits(0);
    waits(3);
    EXPECT("");
    world();
    fails(1); /* they were stopped */
    fails(2);
    EXPECT("");
    finishes(0);
    finishes(3);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(a_host_is_avoided_when_all_of_its_ranks_hang)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = options.cooldown_high_ms = 1000;
    begin_on_two_hosts(&options);
    are_late(2, 3);
    EXPECT("lost 2 " STALLED " -2 lost 3 " STALLED " -3 =0,1 !2 !3");
    waits(0);
    waits(1);
    world();
    fails(2);
    fails(3);
    hosts("a:2,b:4");
    EXPECT("");
    pass(1000);
    EXPECT("+b:4,5");
    finish();
}
END_TEST

/* Its other slots are used, and that of the rank after the cool-down. */
START_TEST(a_host_on_which_another_rank_is_well_stays_in_use)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = options.cooldown_high_ms = 1000;
    begin_on_two_hosts(&options);
    is_late(2);
    EXPECT("lost 2 " STALLED " -2 =0,1,3 !2");
    for (int i = 0; i < 4; i++)
        if (i != 2)
            waits(i);
    world();
    fails(2);
    EXPECT("");
    pass(1000);
    EXPECT("+b:4");
    finish();
}
END_TEST

/* Those of which nothing is known, or that are lost already, change nothing. */
START_TEST(of_those_that_are_named_only_members_that_live_are_lost)
{
    struct elastic_options options = two_to_four;
    options.max = 5;
    begin_on_two_hosts(&options);
    hosts("a:2,b:3");
    EXPECT("+b:4");
    elastic_plan_on_late(plan, (int[]){ -1, 4, 3, 3, 5, 99 }, 6, STALLED, now_ms);
    EXPECT("lost 3 " STALLED " -3 =0,1,2 !3");
    finish();
}
END_TEST

START_TEST(a_job_that_keeps_too_few_ranks_ends_at_once)
{
    struct elastic_options options = two_to_four;
    options.min = 3;
    options.hosts_are_fixed = true;
    begin_on_two_hosts(&options);
    are_late(1, 3);
    EXPECT("lost 1 " STALLED " -1 lost 3 " STALLED " -3 !1 !3 "
           "fail too few slots are left: 2 slots on 2 hosts, and 3 are needed (--min-np)");
    finish();
}
END_TEST

START_TEST(the_limit_of_resets_ends_the_job_and_nothing_follows)
{
    struct elastic_options options = two_to_four;
    options.reset_limit = 1;
    begin_on_two_hosts(&options);
    is_late(0);
    EXPECT("lost 0 " STALLED " -0 =1,2,3 !0");
    fails(0);
    for (int worker = 1; worker < 4; worker++)
        waits(worker);
    world();
    is_late(1);
    EXPECT("lost 1 " STALLED " -1 fail a further world is needed after 1 reset (--reset-limit)");
    finish();
}
END_TEST

START_TEST(ranks_of_the_only_host_that_hang_leave_the_others)
{
    struct elastic_options options = two_to_four;
    begin(&options);
    hosts("a:4");
    EXPECT("+a:0,1,2,3 =0,1,2,3");
    for (int worker = 0; worker < 4; worker++)
        waits(worker);
    world();
    are_late(0, 3);
    EXPECT("lost 0 " STALLED " -0 lost 3 " STALLED " -3 =1,2 !0 !3");
    finish();
}
END_TEST

/* The roots of two process sets. */
START_TEST(of_two_ranks_that_are_said_to_be_late_one_after_the_other_the_first_is_lost)
{
    struct elastic_options options = two_to_four;
    options.min = 1;
    begin(&options);
    hosts("a:4");
    EXPECT("+a:0,1,2,3 =0,1,2,3");
    for (int worker = 0; worker < 4; worker++)
        waits(worker);
    world();
    is_late(3);
    EXPECT("lost 3 " STALLED " -3 =0,1,2 !3");
    is_late(2);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(no_rank_is_late_in_a_world_that_is_broken_already)
{
    struct elastic_options options = two_to_four;
    options.min = 1;
    begin(&options);
    hosts("a:3");
    EXPECT("+a:0,1,2 =0,1,2");
    for (int worker = 0; worker < 3; worker++)
        waits(worker);
    world();
    fails(0);
    EXPECT("=1,2");
    is_late(1);
    EXPECT("");
    waits(1);
    waits(2);
    world();
    is_late(1);
    EXPECT("lost 1 " STALLED " -1 =2 !1");
    finish();
}
END_TEST

START_TEST(a_late_rank_without_which_there_is_no_world_is_replaced)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = options.cooldown_high_ms = 1000;
    begin_on_one_host(&options);
    is_late(1);
    EXPECT("lost 1 " STALLED " -1 !1");
    waits(0);
    fails(1);
    pass(1000);
    EXPECT("+a:2 =0,2");
    finish();
}
END_TEST

START_TEST(a_late_rank_that_is_the_last_one_ends_the_job)
{
    struct elastic_options options = two_to_four;
    options.min = 1;
    begin_on_one_host(&options);
    fails(0);
    EXPECT("=1");
    waits(1);
    world();
    is_late(1);
    EXPECT("lost 1 " STALLED " -1 fail no rank is left that could go on");
    finish();
}
END_TEST

START_TEST(a_worker_that_is_in_no_world_is_not_late)
{
    begin_on_one_host(&two_to_four);
    hosts("a:3");
    EXPECT("+a:2");
    is_late(2);
    is_late(7);
    is_late(-1);
    EXPECT("");
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_plan_timeout");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, slots_that_never_come_end_the_job);
    tcase_add_test(rules, the_slots_that_are_needed_name_the_option_that_was_given);
    tcase_add_test(rules, an_option_that_was_not_given_is_not_named_after_a_loss_either);
    tcase_add_test(rules, too_few_ranks_that_finish_name_the_option_that_was_given);
    tcase_add_test(rules, ranks_that_never_come_end_the_job);
    tcase_add_test(rules, a_rank_that_does_not_come_back_is_named);
    tcase_add_test(rules, a_worker_that_is_started_again_and_again_does_not_put_off_the_timeout);
    tcase_add_test(rules, the_first_world_does_not_wait_for_those_that_replace_lost_ones);
    tcase_add_test(rules, replacements_that_have_come_are_in_the_first_world);
    tcase_add_test(rules, a_slot_lost_just_before_the_timeout_was_not_missing_all_the_time);
    tcase_add_test(rules, many_hosts_whose_ranks_do_not_come_are_counted);
    tcase_add_test(rules, the_number_of_other_ranks_is_not_cut);
    tcase_add_test(rules, ranks_on_a_host_with_a_long_name_are_counted);
    tcase_add_test(rules, a_worker_that_never_joins_is_given_up_and_the_world_runs_on);
    tcase_add_test(rules, after_the_cool_down_its_slot_has_another_worker);
    tcase_add_test(rules, all_workers_that_are_late_are_lost_and_those_that_came_are_not);
    tcase_add_test(rules, a_worker_without_which_there_is_no_world_is_not_given_up);
    tcase_add_test(rules, a_late_worker_with_a_fixed_place_does_not_hold_up_the_others);
    tcase_add_test(rules, a_rank_that_does_not_submit_is_lost_and_those_that_waited_are_not);
    tcase_add_test(rules, a_rank_of_which_all_others_say_so_is_lost_once);
    tcase_add_test(rules, the_words_about_a_late_rank_are_not_cut);
    tcase_add_test(rules, ranks_that_hang_at_once_are_lost_at_once);
    tcase_add_test(rules, a_host_is_avoided_when_all_of_its_ranks_hang);
    tcase_add_test(rules, a_host_on_which_another_rank_is_well_stays_in_use);
    tcase_add_test(rules, of_those_that_are_named_only_members_that_live_are_lost);
    tcase_add_test(rules, a_job_that_keeps_too_few_ranks_ends_at_once);
    tcase_add_test(rules, the_limit_of_resets_ends_the_job_and_nothing_follows);
    tcase_add_test(rules, ranks_of_the_only_host_that_hang_leave_the_others);
    tcase_add_test(rules,
                   of_two_ranks_that_are_said_to_be_late_one_after_the_other_the_first_is_lost);
    tcase_add_test(rules, no_rank_is_late_in_a_world_that_is_broken_already);
    tcase_add_test(rules, a_late_rank_without_which_there_is_no_world_is_replaced);
    tcase_add_test(rules, a_late_rank_that_is_the_last_one_ends_the_job);
    tcase_add_test(rules, a_worker_that_is_in_no_world_is_not_late);
    suite_add_tcase(suite, rules);
    return unit_run(suite);
}
