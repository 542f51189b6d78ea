/* SPDX-License-Identifier: Apache-2.0 */
/* The policy of elastic jobs in the scenarios of Horovod (integration/elastic_common.py). */
#include "tests/support/elastic_plan_fixture.h"

/* Sizes s, 2s, s; the third world is that of 127.0.0.1, whose first rank was s. */
START_TEST(horovod_hosts_added_and_removed)
{
    struct elastic_options options = two_to_four;
    begin(&options);
    hosts("localhost:2");
    EXPECT("+localhost:0,1 =0,1");
    world();
    hosts("localhost:2,127.0.0.1:2");
    EXPECT("+127.0.0.1:2,3");
    waits(2);
    waits(3);
    EXPECT("=0,1,2,3");
    world();
    hosts("127.0.0.1:2");
    EXPECT("-1 -0 =2,3");
    world();
    ck_assert_int_eq(epoch, 3);
    finish();
}
END_TEST

START_TEST(horovod_hosts_added_and_removed_with_one_slot)
{
    static const struct elastic_options options = { .np = 1, .min = 1, .max = 2, .timeout_ms = 9 };
    begin(&options);
    hosts("localhost:1");
    EXPECT("+localhost:0 =0");
    world();
    hosts("localhost:1,127.0.0.1:1");
    EXPECT("+127.0.0.1:1");
    waits(1);
    EXPECT("=0,1");
    world();
    hosts("127.0.0.1:1");
    EXPECT("-0 =1");
    world();
    ck_assert_int_eq(epoch, 3);
    finish();
}
END_TEST

/* Sizes 4, 2, 2; the first rank of the second world was 2; two rendezvous. */
static void horovod_failure(bool fixed)
{
    struct elastic_options options = two_to_four;
    options.hosts_are_fixed = fixed;
    begin(&options);
    hosts("localhost:2,127.0.0.1:2");
    EXPECT("+localhost:0,1 +127.0.0.1:2,3 =0,1,2,3");
    world();
    fails(0);
    EXPECT("-1 =2,3");
    world();
    fails(1);
    finishes(2);
    finishes(3);
    EXPECT("done");
    ck_assert_int_eq(epoch, 2);
    finish();
}

START_TEST(horovod_single_rank_failure)
{
    horovod_failure(false);
}
END_TEST

START_TEST(horovod_fault_tolerance_without_scaling)
{
    horovod_failure(true);
}
END_TEST

START_TEST(horovod_all_ranks_failure)
{
    begin_on_two_hosts(&two_to_four);
    fails(0);
    fails(1);
    fails(2);
    fails(3);
    ck_assert_ptr_nonnull(strstr(actions(), "fail "));
    finish();
}
END_TEST

/* Horovod ends at once. A script may name other hosts, for which we wait; fixed hosts end. */
START_TEST(horovod_all_hosts_blacklisted)
{
    for (int fixed = 0; fixed < 2; fixed++) {
        struct elastic_options options = two_to_four;
        options.hosts_are_fixed = fixed;
        begin_on_two_hosts(&options);
        fails(0);
        fails(2);
        EXPECT(fixed ? "-1 =2,3 fail too few slots are left: 1 slot on 1 host, 1 host avoided "
                       "after a failure, and 2 are needed (--min-np)"
                     : "-1 =2,3");
        pass(600000);
        EXPECT(fixed ? ""
                     : "!1 fail too few slots for 600 s (--elastic-timeout): 1 slot on 1 host, 1 "
                       "host avoided after a failure, and 2 are needed (--min-np)");
        finish();
    }
}
END_TEST

START_TEST(horovod_min_hosts_timeout)
{
    static const struct elastic_options options = {
        .np = 4, .min = 4, .max = 4, .timeout_ms = 1000
    };
    begin_on_two_hosts(&options);
    fails(0);
    EXPECT("");
    pass(1000);
    EXPECT("fail too few slots for 1 s (--elastic-timeout): 3 slots on 2 hosts, and 4 are needed "
           "(--min-np)");
    finish();
}
END_TEST

START_TEST(horovod_reset_limit)
{
    for (int limit = 1; limit <= 2; limit++) {
        struct elastic_options options = two_to_four;
        options.reset_limit = limit;
        begin(&options);
        hosts("localhost:2");
        actions();
        world();
        hosts("localhost:2,127.0.0.1:2");
        actions();
        waits(2);
        waits(3);
        EXPECT("=0,1,2,3");
        world();
        hosts("127.0.0.1:2");
        EXPECT(limit == 1 ? "-1 -0 fail a further world is needed after 1 reset (--reset-limit)"
                          : "-1 -0 =2,3");
        finish();
    }
}
END_TEST

START_TEST(horovod_resurrecting_blacklisted_hosts)
{
    struct elastic_options options = two_to_four;
    options.cooldown_low_ms = 1000;
    options.cooldown_high_ms = 2000;
    begin_on_two_hosts(&options);
    fails(3);
    fails(2);
    EXPECT("-2 =0,1");
    world();
    pass(1000);
    EXPECT("+b:4,5");
    waits(4);
    waits(5);
    EXPECT("=0,1,4,5");
    world();
    fails(5);
    EXPECT("-4 =0,1");
    world();
    fails(4);
    pass(1000);
    EXPECT("");
    pass(1000);
    EXPECT("+b:6,7");
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_plan_horovod");
    TCase *rules = tcase_create("rules");
    tcase_add_test(rules, horovod_hosts_added_and_removed);
    tcase_add_test(rules, horovod_hosts_added_and_removed_with_one_slot);
    tcase_add_test(rules, horovod_single_rank_failure);
    tcase_add_test(rules, horovod_fault_tolerance_without_scaling);
    tcase_add_test(rules, horovod_all_ranks_failure);
    tcase_add_test(rules, horovod_all_hosts_blacklisted);
    tcase_add_test(rules, horovod_min_hosts_timeout);
    tcase_add_test(rules, horovod_reset_limit);
    tcase_add_test(rules, horovod_resurrecting_blacklisted_hosts);
    suite_add_tcase(suite, rules);
    return unit_run(suite);
}
