/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs: the first world, what follows a failure, and how the job ends. */
#include "tests/support/elastic_plan_fixture.h"

/* ---- start ---- */

START_TEST(the_first_world_waits_for_np_slots)
{
    begin(&two_to_four);
    hosts("a:1");
    EXPECT("");
    ck_assert_str_eq(elastic_plan_waits_for(plan),
                     "waiting for slots: 1 slot on 1 host, 2 needed (-np)");
    hosts("a:1,b:1");
    EXPECT("+a:0 +b:1 =0,1");
    ck_assert_ptr_null(elastic_plan_waits_for(plan));
    finish();
}
END_TEST

START_TEST(the_first_world_takes_all_slots_up_to_the_maximum)
{
    begin(&two_to_four);
    hosts("a:3,b:3,c:1");
    EXPECT("+a:0,1,2 +b:3 =0,1,2,3");
    finish();
}
END_TEST

START_TEST(new_workers_know_their_place)
{
    struct elastic_action action;
    begin(&two_to_four);
    hosts("a:1,b:2");
    ck_assert(elastic_plan_next(plan, &action));
    ck_assert_int_eq(action.places[0].size, 3);
    ck_assert_int_eq(action.places[0].cross_size, 2);
    ck_assert(elastic_plan_next(plan, &action));
    const struct rank_info *last = &action.places[1];
    ck_assert_int_eq(last->rank, 2);
    ck_assert_int_eq(last->local_rank, 1);
    ck_assert_int_eq(last->local_size, 2);
    ck_assert_int_eq(last->cross_rank, 0);
    ck_assert_int_eq(last->cross_size, 1);
    ck_assert_int_eq(action.places[0].cross_rank, 1);
    finish();
}
END_TEST

START_TEST(a_program_that_cannot_be_started_ends_the_job_at_once)
{
    begin(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    fails(0);
    EXPECT("-1 =2,3");
    fails(2);
    EXPECT("");
    fails(3);
    EXPECT("fail no rank is left that could go on");
    finish();
}
END_TEST

START_TEST(nothing_follows_a_failure)
{
    begin(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    waits(0);
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 1 on a (worker 1), ranks 2, 3 on "
           "b (workers 2, 3) have not "
           "called hvd_init");
    fails(2);
    EXPECT("");
    pass(600000);
    EXPECT("");
    finish();
}
END_TEST

/* Its place among the others is that of its first world, so that rank 0 has the state. */
START_TEST(a_worker_that_comes_late_is_behind_those_that_have_the_state)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    waits(3);
    EXPECT("");
    pass(ELASTIC_GATHER_MS);
    EXPECT("=0,1,3");
    world();
    waits(2);
    EXPECT("=0,1,3,2");
    world();
    fails(0);
    EXPECT("-1 =3,2");
    finish();
}
END_TEST

/* ---- failures ---- */

START_TEST(a_host_with_a_failure_is_avoided_and_its_other_workers_are_removed)
{
    begin_on_two_hosts(&two_to_four);
    fails(1);
    EXPECT("-0 =2,3");
    world();
    EXPECT("");
    pass(ELASTIC_LEAVE_MS - 1);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_removed_worker_that_stays_is_stopped_once)
{
    begin_on_two_hosts(&two_to_four);
    fails(1);
    EXPECT("-0 =2,3");
    world();
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + ELASTIC_LEAVE_MS);
    pass(ELASTIC_LEAVE_MS);
    EXPECT("!0");
    pass(ELASTIC_LEAVE_MS);
    EXPECT("");
    fails(0);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_job_with_one_host_gives_up_one_slot)
{
    static const struct elastic_options options = { .np = 4, .min = 2, .max = 4, .timeout_ms = 9 };
    begin(&options);
    hosts("a:4");
    EXPECT("+a:0,1,2,3 =0,1,2,3");
    world();
    fails(0);
    EXPECT("=1,2,3");
    world();
    fails(2);
    EXPECT("=1,3");
    finish();
}
END_TEST

START_TEST(a_host_without_which_the_world_is_too_small_loses_one_slot_only)
{
    static const struct elastic_options options = { .np = 3, .min = 3, .max = 4, .timeout_ms = 9 };
    begin_on_two_hosts(&options);
    fails(1);
    EXPECT("=0,2,3");
    finish();
}
END_TEST

START_TEST(a_free_slot_replaces_a_worker_that_failed_without_delay_for_the_others)
{
    static const struct elastic_options options = { .np = 4, .min = 2, .max = 4, .timeout_ms = 9 };
    begin(&options);
    hosts("a:2,b:2,c:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    world();
    fails(3);
    EXPECT("-2 +c:4,5 =0,1");
    world();
    EXPECT("");
    waits(4);
    EXPECT("");
    waits(5);
    EXPECT("=0,1,4,5");
    finish();
}
END_TEST

START_TEST(survivors_that_are_too_few_wait_for_new_workers)
{
    static const struct elastic_options options = { .np = 2, .min = 2, .max = 2, .timeout_ms = 9 };
    begin(&options);
    hosts("a:1,b:1,c:1");
    EXPECT("+a:0 +b:1 =0,1");
    world();
    fails(1);
    EXPECT("+c:2 =0,2");
    finish();
}
END_TEST

START_TEST(fixed_hosts_that_can_never_be_enough_end_the_job_at_once)
{
    struct elastic_options options = two_to_four;
    options.hosts_are_fixed = true;
    begin_on_one_host(&options);
    fails(0);
    EXPECT("fail too few slots are left: 1 slot on 1 host, and 2 are needed (--min-np)");
    finish();
}
END_TEST

START_TEST(with_too_few_ranks_the_job_waits_for_hosts_of_the_script)
{
    begin_on_one_host(&two_to_four);
    fails(0);
    EXPECT("");
    ck_assert_str_eq(elastic_plan_waits_for(plan),
                     "waiting for slots: 1 slot on 1 host, 2 needed (--min-np)");
    pass(599999);
    hosts("a:2,b:1");
    EXPECT("+b:2 =1,2");
    finish();
}
END_TEST

START_TEST(with_too_few_ranks_the_wait_ends)
{
    begin_on_one_host(&two_to_four);
    fails(0);
    pass(600000);
    EXPECT("fail too few slots for 600 s (--elastic-timeout): 1 slot on 1 host, and 2 are needed "
           "(--min-np)");
    finish();
}
END_TEST

START_TEST(without_a_survivor_the_state_is_lost)
{
    begin_on_two_hosts(&two_to_four);
    fails(0);
    fails(1);
    fails(2);
    fails(3);
    EXPECT("-1 =2,3 fail no rank is left that could go on");
    finish();
}
END_TEST

START_TEST(new_workers_alone_are_no_survivors)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    waits(2);
    fails(0);
    fails(1);
    ck_assert_ptr_nonnull(strstr(actions(), "fail no rank is left"));
    finish();
}
END_TEST

START_TEST(ranks_that_come_before_the_news_of_a_failure_wait_for_it)
{
    begin_on_two_hosts(&two_to_four);
    waits(0);
    waits(2);
    EXPECT("");
    fails(3);
    EXPECT("-2 =0,1");
    finish();
}
END_TEST

START_TEST(a_world_whose_ranks_come_back_by_themselves_is_made_again)
{
    begin_on_two_hosts(&two_to_four);
    waits(2);
    EXPECT("");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + ELASTIC_HEAR_MS);
    waits(0);
    pass(ELASTIC_HEAR_MS);
    EXPECT("=0,1,2,3");
    pass(600000);
    EXPECT("fail no world within 600 s (--elastic-timeout): rank 1 on a (worker 1), rank 3 on b "
           "(worker 3) have not "
           "called hvd_init");
    finish();
}
END_TEST

/* ---- resets ---- */

START_TEST(the_limit_of_resets_ends_the_job_when_one_more_is_necessary)
{
    struct elastic_options options = two_to_four;
    options.reset_limit = 1;
    options.min = 1;
    begin_on_two_hosts(&options);
    fails(3);
    EXPECT("-2 =0,1");
    world();
    fails(1);
    EXPECT("fail a further world is needed after 1 reset (--reset-limit)");
    finish();
}
END_TEST

START_TEST(growth_is_not_necessary)
{
    struct elastic_options options = two_to_four;
    options.reset_limit = 1;
    begin_on_one_host(&options);
    hosts("a:2,b:1");
    EXPECT("+b:2");
    waits(2);
    EXPECT("=0,1,2");
    world();
    hosts("a:2,b:2");
    EXPECT("");
    finish();
}
END_TEST

/* ---- the end ---- */

START_TEST(the_job_is_done_when_all_have_finished)
{
    begin_on_two_hosts(&two_to_four);
    finishes(2);
    finishes(0);
    finishes(1);
    EXPECT("");
    finishes(3);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(the_success_of_one_does_not_stop_the_others)
{
    begin_on_two_hosts(&two_to_four);
    finishes(0);
    EXPECT("");
    fails(1);
    EXPECT("=2,3");
    world();
    finishes(2);
    finishes(3);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(a_worker_that_finishes_is_not_replaced)
{
    begin_on_two_hosts(&two_to_four);
    finishes(0);
    hosts("a:2,b:2,c:2");
    EXPECT("");
    finish();
}
END_TEST

START_TEST(workers_that_were_to_join_are_removed_when_one_finishes)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    finishes(0);
    EXPECT("-2 -3");
    finishes(1);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(too_few_that_finish_are_a_failure)
{
    begin_on_two_hosts(&two_to_four);
    finishes(0);
    fails(1);
    fails(2);
    EXPECT("=2,3 =3");
    fails(3);
    EXPECT("fail only 1 rank finished, and 2 are needed (--min-np)");
    finish();
}
END_TEST

START_TEST(workers_that_do_not_use_the_library_may_finish)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    finishes(1);
    finishes(0);
    ck_assert_ptr_nonnull(strstr(actions(), "done"));
    finish();
}
END_TEST

START_TEST(the_status_of_a_removed_worker_does_not_count)
{
    begin_on_two_hosts(&two_to_four);
    hosts("b:2");
    EXPECT("-1 -0 =2,3");
    finishes(0);
    EXPECT("");
    world();
    fails(1);
    EXPECT("");
    finishes(2);
    finishes(3);
    EXPECT("done");
    finish();
}
END_TEST

START_TEST(events_about_others_change_nothing)
{
    static const int unknown[] = { -1, 4, 7, 8 };
    begin_on_two_hosts(&two_to_four);
    fails(-1);
    finishes(4);
    waits(77);
    elastic_plan_on_world(plan, 0, unknown, 0, now_ms);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_plan");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, the_first_world_waits_for_np_slots);
    tcase_add_test(rules, the_first_world_takes_all_slots_up_to_the_maximum);
    tcase_add_test(rules, new_workers_know_their_place);
    tcase_add_test(rules, a_program_that_cannot_be_started_ends_the_job_at_once);
    tcase_add_test(rules, nothing_follows_a_failure);
    tcase_add_test(rules, a_worker_that_comes_late_is_behind_those_that_have_the_state);
    tcase_add_test(rules, a_host_with_a_failure_is_avoided_and_its_other_workers_are_removed);
    tcase_add_test(rules, a_removed_worker_that_stays_is_stopped_once);
    tcase_add_test(rules, a_job_with_one_host_gives_up_one_slot);
    tcase_add_test(rules, a_host_without_which_the_world_is_too_small_loses_one_slot_only);
    tcase_add_test(rules, a_free_slot_replaces_a_worker_that_failed_without_delay_for_the_others);
    tcase_add_test(rules, survivors_that_are_too_few_wait_for_new_workers);
    tcase_add_test(rules, fixed_hosts_that_can_never_be_enough_end_the_job_at_once);
    tcase_add_test(rules, with_too_few_ranks_the_job_waits_for_hosts_of_the_script);
    tcase_add_test(rules, with_too_few_ranks_the_wait_ends);
    tcase_add_test(rules, without_a_survivor_the_state_is_lost);
    tcase_add_test(rules, new_workers_alone_are_no_survivors);
    tcase_add_test(rules, ranks_that_come_before_the_news_of_a_failure_wait_for_it);
    tcase_add_test(rules, a_world_whose_ranks_come_back_by_themselves_is_made_again);
    tcase_add_test(rules, the_limit_of_resets_ends_the_job_when_one_more_is_necessary);
    tcase_add_test(rules, growth_is_not_necessary);
    tcase_add_test(rules, the_job_is_done_when_all_have_finished);
    tcase_add_test(rules, the_success_of_one_does_not_stop_the_others);
    tcase_add_test(rules, a_worker_that_finishes_is_not_replaced);
    tcase_add_test(rules, workers_that_were_to_join_are_removed_when_one_finishes);
    tcase_add_test(rules, too_few_that_finish_are_a_failure);
    tcase_add_test(rules, workers_that_do_not_use_the_library_may_finish);
    tcase_add_test(rules, the_status_of_a_removed_worker_does_not_count);
    tcase_add_test(rules, events_about_others_change_nothing);
    suite_add_tcase(suite, rules);
    return unit_run(suite);
}
