/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs: hosts and slots that come back after a cool-down, that come and that
 * go; workers whose places are fixed. */
#include "tests/support/elastic_plan_fixture.h"

/* ---- cool-down ---- */

START_TEST(a_host_comes_back_after_the_cool_down_which_doubles)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = 10000;
    options.cooldown_high_ms = 30000;
    static const uint64_t delays[] = { 10000, 20000, 30000, 30000 };
    begin_on_two_hosts(&options);
    int first = 2;
    for (int i = 0; i < 4; i++) {
        char started[40];
        fails(first);
        fails(first + 1);
        actions();
        world();
        ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + delays[i]);
        pass(delays[i] - 1);
        EXPECT("");
        pass(1);
        first = i == 0 ? 4 : first + 2;
        snprintf(started, sizeof started, "+b:%d,%d", first, first + 1);
        EXPECT(started);
        waits(first);
        waits(first + 1);
        actions();
        world();
    }
    finish();
}
END_TEST

START_TEST(a_host_is_reached_as_the_user_who_is_named_last)
{
    struct elastic_action action;
    begin(&two_to_four);
    hosts("ann@a:1");
    EXPECT("");
    hosts("bob@a:2");
    ck_assert(elastic_plan_next(plan, &action));
    ck_assert_int_eq(action.kind, ELASTIC_START);
    ck_assert_str_eq(action.host->user, "bob");
    EXPECT("=0,1");
    world();
    hosts("a:3");
    ck_assert(elastic_plan_next(plan, &action));
    ck_assert_int_eq(action.kind, ELASTIC_START);
    ck_assert_ptr_null(action.host->user);
    finish();
}
END_TEST

START_TEST(a_slot_comes_back_after_the_cool_down)
{
    static const struct elastic_options options = { .np = 3,
                                                    .min = 2,
                                                    .max = 4,
                                                    .timeout_ms = 60000,
                                                    .cooldown_low_ms = 1000,
                                                    .cooldown_high_ms = 2000 };
    begin(&options);
    hosts("a:3");
    EXPECT("+a:0,1,2 =0,1,2");
    world();
    fails(1);
    EXPECT("=0,2");
    world();
    pass(1000);
    EXPECT("+a:3");
    waits(3);
    EXPECT("=0,2,3");
    finish();
}
END_TEST

START_TEST(a_removed_worker_keeps_its_slot_until_it_ends)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = options.cooldown_high_ms = 1000;
    begin_on_two_hosts(&options);
    fails(3);
    EXPECT("-2 =0,1");
    world();
    pass(1000);
    EXPECT("+b:4");
    fails(2);
    EXPECT("+b:5");
    finish();
}
END_TEST

START_TEST(a_failed_host_does_not_become_good_by_leaving)
{
    begin_on_two_hosts(&two_to_four);
    fails(2);
    fails(3);
    EXPECT("-3 =0,1");
    world();
    hosts("a:2");
    hosts("a:2,b:2");
    EXPECT("");
    finish();
}
END_TEST

/* ---- growth and shrinking ---- */

START_TEST(a_world_grows_when_all_new_workers_wait)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    waits(3);
    EXPECT("");
    waits(2);
    EXPECT("=0,1,2,3");
    world();
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_world_does_not_wait_long_for_the_last_new_worker)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    waits(3);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + ELASTIC_GATHER_MS);
    pass(ELASTIC_GATHER_MS);
    EXPECT("=0,1,3");
    world();
    waits(2);
    EXPECT("=0,1,3,2");
    finish();
}
END_TEST

START_TEST(a_new_worker_that_fails_does_not_disturb_the_world)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    fails(2);
    EXPECT("-3");
    finish();
}
END_TEST

START_TEST(a_new_worker_that_exits_with_0_before_it_joins_has_finished_nothing)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:1");
    EXPECT("+b:2");
    finishes(2);
    EXPECT("");
    fails(1);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_new_worker_that_was_intended_and_fails_is_taken_out_again)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:1");
    EXPECT("+b:2");
    waits(2);
    EXPECT("=0,1,2");
    fails(2);
    EXPECT("=0,1");
    finish();
}
END_TEST

START_TEST(a_new_worker_that_fails_beside_members_costs_a_slot_only)
{
    begin(&two_to_four);
    hosts("a:1,b:2");
    EXPECT("+a:0 +b:1,2 =0,1,2");
    world();
    hosts("a:1,b:3");
    EXPECT("+b:3");
    fails(3);
    EXPECT("");
    finish();
}
END_TEST

START_TEST(a_host_that_is_not_found_any_more_loses_its_workers)
{
    begin_on_two_hosts(&two_to_four);
    hosts("b:2");
    EXPECT("-1 -0 =2,3");
    pass(10 * ELASTIC_LEAVE_MS); /* the world that they are in still runs */
    EXPECT("");
    world();
    pass(ELASTIC_LEAVE_MS);
    EXPECT("!0 !1");
    finish();
}
END_TEST

START_TEST(a_host_with_fewer_slots_loses_its_youngest_workers)
{
    static const struct elastic_options options = { .np = 4, .min = 1, .max = 9, .timeout_ms = 9 };
    begin(&options);
    hosts("a:3,b:1");
    EXPECT("+a:0,1,2 +b:3 =0,1,2,3");
    world();
    hosts("a:1,b:1");
    EXPECT("-2 -1 =0,3");
    finish();
}
END_TEST

START_TEST(workers_stay_on_a_lost_host_until_others_can_replace_them)
{
    begin_on_one_host(&two_to_four);
    hosts("b:2");
    EXPECT("+b:2,3");
    waits(2);
    waits(3);
    EXPECT("=0,1,2,3");
    world();
    EXPECT("-1 -0 =2,3");
    finish();
}
END_TEST

START_TEST(a_world_that_goes_on_without_slots_waits_for_them)
{
    begin_on_one_host(&two_to_four);
    ck_assert_ptr_null(elastic_plan_waits_for(plan));
    hosts("");
    EXPECT("");
    ck_assert_str_eq(elastic_plan_waits_for(plan),
                     "waiting for slots: 0 slots on 0 hosts, 2 needed (--min-np); the ranks go on "
                     "where they are");
    pass(two_to_four.timeout_ms);
    EXPECT("");
    hosts("b:2");
    EXPECT("+b:2,3");
    ck_assert_ptr_null(elastic_plan_waits_for(plan));
    finish();
}
END_TEST

START_TEST(a_host_that_flaps_leaves_nobody_behind)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    hosts("a:2");
    EXPECT("-3 -2");
    hosts("a:2,b:2");
    EXPECT("");
    fails(2);
    EXPECT("+b:4");
    pass(ELASTIC_LEAVE_MS);
    EXPECT("!3");
    finish();
}
END_TEST

START_TEST(the_oldest_survivor_is_rank_0)
{
    static const struct elastic_options options = {
        .np = 4, .min = 1, .max = 9, .timeout_ms = 9, .cooldown_low_ms = 1, .cooldown_high_ms = 1
    };
    begin_on_two_hosts(&options);
    fails(0);
    fails(1);
    EXPECT("-1 =2,3");
    world();
    pass(1);
    EXPECT("+a:4,5");
    waits(4);
    waits(5);
    EXPECT("=2,3,4,5");
    finish();
}
END_TEST

START_TEST(ranks_of_one_host_stand_together)
{
    static const struct elastic_options options = { .np = 4, .min = 1, .max = 9, .timeout_ms = 9 };
    begin_on_two_hosts(&options);
    hosts("a:3,b:2");
    EXPECT("+a:4");
    waits(4);
    EXPECT("=0,1,4,2,3");
    finish();
}
END_TEST

/* ---- workers whose places are fixed ---- */

static void begin_with_fixed_places(void)
{
    begin(&two_to_four);
    hosts("a:2");
    EXPECT("+a:0,1 =0,1");
    comes_with_fixed_place(0);
    comes_with_fixed_place(1);
    world();
    EXPECT("");
}

START_TEST(workers_with_fixed_places_join_together)
{
    begin_with_fixed_places();
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    comes_with_fixed_place(2);
    pass(10 * ELASTIC_GATHER_MS);
    EXPECT("");
    comes_with_fixed_place(3);
    EXPECT("=0,1,2,3");
    finish();
}
END_TEST

START_TEST(others_are_started_when_those_have_joined)
{
    begin_with_fixed_places();
    hosts("a:2,b:1");
    EXPECT("+b:2");
    hosts("a:2,b:1,c:1");
    EXPECT("");
    comes_with_fixed_place(2);
    EXPECT("=0,1,2");
    world();
    EXPECT("+c:3");
    finish();
}
END_TEST

START_TEST(workers_whose_places_are_wrong_are_stopped_at_once_and_replaced)
{
    begin_with_fixed_places();
    hosts("a:2,b:1,c:1");
    EXPECT("+b:2 +c:3");
    comes_with_fixed_place(2);
    hosts("a:2,b:1");
    EXPECT("-3 -2 !2");
    fails(3);
    EXPECT("");
    fails(2);
    EXPECT("+b:4");
    comes_with_fixed_place(4);
    EXPECT("=0,1,4");
    finish();
}
END_TEST

START_TEST(a_first_world_that_loses_a_worker_is_started_again)
{
    begin(&two_to_four);
    hosts("a:3");
    EXPECT("+a:0,1,2 =0,1,2");
    comes_with_fixed_place(0);
    fails(1);
    EXPECT("-0 -2 !0 !2");
    fails(0);
    EXPECT("");
    fails(2);
    EXPECT("+a:3,4 =3,4");
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_plan_growth");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, a_host_comes_back_after_the_cool_down_which_doubles);
    tcase_add_test(rules, a_host_is_reached_as_the_user_who_is_named_last);
    tcase_add_test(rules, a_slot_comes_back_after_the_cool_down);
    tcase_add_test(rules, a_removed_worker_keeps_its_slot_until_it_ends);
    tcase_add_test(rules, a_failed_host_does_not_become_good_by_leaving);
    tcase_add_test(rules, a_world_grows_when_all_new_workers_wait);
    tcase_add_test(rules, a_world_does_not_wait_long_for_the_last_new_worker);
    tcase_add_test(rules, a_new_worker_that_fails_does_not_disturb_the_world);
    tcase_add_test(rules, a_new_worker_that_exits_with_0_before_it_joins_has_finished_nothing);
    tcase_add_test(rules, a_new_worker_that_was_intended_and_fails_is_taken_out_again);
    tcase_add_test(rules, a_new_worker_that_fails_beside_members_costs_a_slot_only);
    tcase_add_test(rules, a_host_that_is_not_found_any_more_loses_its_workers);
    tcase_add_test(rules, a_host_with_fewer_slots_loses_its_youngest_workers);
    tcase_add_test(rules, workers_stay_on_a_lost_host_until_others_can_replace_them);
    tcase_add_test(rules, a_world_that_goes_on_without_slots_waits_for_them);
    tcase_add_test(rules, a_host_that_flaps_leaves_nobody_behind);
    tcase_add_test(rules, the_oldest_survivor_is_rank_0);
    tcase_add_test(rules, ranks_of_one_host_stand_together);
    tcase_add_test(rules, workers_with_fixed_places_join_together);
    tcase_add_test(rules, others_are_started_when_those_have_joined);
    tcase_add_test(rules, workers_whose_places_are_wrong_are_stopped_at_once_and_replaced);
    tcase_add_test(rules, a_first_world_that_loses_a_worker_is_started_again);
    suite_add_tcase(suite, rules);
    return unit_run(suite);
}
