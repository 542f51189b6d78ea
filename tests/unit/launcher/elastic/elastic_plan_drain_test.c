/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs: hosts that are drained because they are about to be taken away. */
#include "tests/support/elastic_plan_fixture.h"

static void drained(int worker)
{
    elastic_plan_on_drained(plan, worker, now_ms);
}

START_TEST(a_drained_host_loses_its_workers_and_is_avoided)
{
    begin_on_two_hosts(&two_to_four);
    drained(1);
    EXPECT("-1 -0 =2,3");
    hosts("a:3,b:2");
    EXPECT("");
    world();
    finishes(0);
    finishes(1);
    EXPECT("");
    ck_assert_uint_eq(elastic_plan_next_ms(plan), ELASTIC_NEVER);
    finish();
}
END_TEST

START_TEST(workers_stay_on_a_drained_host_until_others_can_replace_them)
{
    begin_on_one_host(&two_to_four);
    drained(0);
    EXPECT("");
    ck_assert_str_eq(elastic_plan_waits_for(plan),
                     "waiting for slots: 0 slots on 0 hosts, 1 host avoided after a failure, 2 "
                     "needed (--min-np); the ranks go on where they are");
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    waits(2);
    waits(3);
    EXPECT("=0,1,2,3");
    world();
    EXPECT("-1 -0 =2,3");
    finish();
}
END_TEST

START_TEST(a_new_worker_on_a_drained_host_is_removed_at_once)
{
    begin_on_one_host(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+b:2,3");
    waits(2);
    drained(2);
    EXPECT("-3 -2");
    finish();
}
END_TEST

/* The agents of one host get the signal one after the other. */
START_TEST(a_drained_host_is_used_again_after_the_cool_down)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = 10000;
    options.cooldown_high_ms = 90000;
    begin_on_two_hosts(&options);
    drained(2);
    EXPECT("-3 -2 =0,1");
    drained(3);
    EXPECT("");
    world();
    finishes(2);
    finishes(3);
    EXPECT("");
    pass(9999);
    EXPECT("");
    pass(1);
    EXPECT("+b:4,5");
    waits(4);
    waits(5);
    EXPECT("=0,1,4,5");
    world();
    drained(4);
    EXPECT("-5 -4 =0,1");
    world();
    finishes(4);
    finishes(5);
    ck_assert_uint_eq(elastic_plan_next_ms(plan), now_ms + 20000);
    finish();
}
END_TEST

START_TEST(before_the_first_world_a_drained_host_is_left_too)
{
    begin(&two_to_four);
    hosts("a:2,b:2");
    EXPECT("+a:0,1 +b:2,3 =0,1,2,3");
    drained(3);
    EXPECT("-3 -2 =0,1");
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_plan_drain");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, a_drained_host_loses_its_workers_and_is_avoided);
    tcase_add_test(rules, workers_stay_on_a_drained_host_until_others_can_replace_them);
    tcase_add_test(rules, a_new_worker_on_a_drained_host_is_removed_at_once);
    tcase_add_test(rules, a_drained_host_is_used_again_after_the_cool_down);
    tcase_add_test(rules, before_the_first_world_a_drained_host_is_left_too);
    suite_add_tcase(suite, rules);
    return unit_run(suite);
}
