/* SPDX-License-Identifier: Apache-2.0 */
/* Who is in the next world of an elastic job of hvdrendezvousd: as many as there are between the
 * minimum and the maximum, the oldest first, once nobody new comes. */
#include "rendezvous/world/elastic_service.h"

#include "tests/support/unit.h"

#include <string.h>

enum { WORKERS = 8, START_MS = 10000 };

static const struct elastic_service rules = { .min = 2, .max = 4, .start_timeout_ms = START_MS };
static struct elastic elastic;
static const char *hosts[WORKERS]; /* of those that are in the world */
static int owner;

static void setup_elastic(void)
{
    elastic_init(&elastic);
    memset(hosts, 0, sizeof hosts);
}

static void teardown_elastic(void)
{
    elastic_fini(&elastic);
}

static void come(int worker, const char *host, uint64_t now_ms)
{
    void *replaced;
    struct join_hello hello = { .rank = -1, .worker = worker, .pid = 100 + worker };
    strcpy(hello.host, host);
    hosts[worker] = NULL;
    ck_assert_int_eq(elastic_come(&elastic, &hello, &owner, now_ms, &replaced, NULL), HVD_OK);
}

static void decide(uint64_t now_ms)
{
    ck_assert_int_eq(elastic_service_intend(&rules, &elastic, hosts, now_ms, NULL), HVD_OK);
}

static void expect_members(int count, const int *workers)
{
    ck_assert_int_eq(elastic.nmembers, count);
    for (int i = 0; i < count; i++)
        ck_assert_int_eq(elastic.members[i].worker, workers[i]);
}

/* The world is made of the members, who are all on host a. */
static void make_world(void)
{
    struct elastic_action action;
    ck_assert(elastic_next(&elastic, &action) && action.act == ELASTIC_WORLD);
    elastic_made(&elastic, elastic_epoch(&elastic));
    for (int i = 0; i < elastic.nmembers; i++)
        hosts[elastic.members[i].worker] = "a";
}

static void expect_nothing(void)
{
    struct elastic_action action;
    ck_assert(!elastic_next(&elastic, &action));
}

static void expect_update(int hosts_changed)
{
    struct elastic_action action;
    ck_assert(elastic_next(&elastic, &action) && action.act == ELASTIC_UPDATE);
    ck_assert_int_eq(action.update.hosts, hosts_changed);
}

#define THESE(...)                                                                                 \
    (sizeof((int[]){ __VA_ARGS__ }) / sizeof(int)), (int[])                                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

START_TEST(fewer_than_the_minimum_are_no_world)
{
    come(0, "a", 0);
    decide(5000);
    expect_nothing();
    ck_assert_int_eq(elastic.nmembers, 0);
}
END_TEST

START_TEST(the_minimum_is_a_world_once_nobody_new_comes)
{
    come(0, "a", 0);
    come(1, "a", 100);
    decide(100);
    expect_nothing();
    ck_assert_uint_eq(elastic_service_deadline(&rules, &elastic, false, 100),
                      100 + ELASTIC_QUIET_MS);
    come(2, "a", 250);
    decide(100 + ELASTIC_QUIET_MS);
    expect_nothing();
    decide(250 + ELASTIC_QUIET_MS);
    expect_members(THESE(0, 1, 2));
    make_world();
}
END_TEST

START_TEST(the_maximum_is_a_world_at_once)
{
    for (int i = 0; i < 5; i++)
        come(i, "a", 0);
    decide(0);
    expect_members(THESE(0, 1, 2, 3));
    make_world();
    decide(100000); /* one is a spare */
    expect_nothing();
    ck_assert(!elastic_service_timed_out(&rules, &elastic, true, UINT64_MAX - 1,
                                         (char[JOIN_TEXT_MAX]){ 0 }));
}
END_TEST

START_TEST(hosts_follow_each_other_by_their_oldest_worker)
{
    come(0, "b", 0);
    come(1, "a", 0);
    come(2, "b", 0);
    come(3, "a", 0);
    decide(0);
    expect_members(THESE(0, 2, 1, 3));
}
END_TEST

static void make_world_of_two(void)
{
    come(0, "a", 0);
    come(1, "a", 0);
    decide(1000);
    make_world();
}

START_TEST(a_newcomer_is_news_for_the_world)
{
    make_world_of_two();
    come(2, "a", 2000);
    decide(2000);
    expect_nothing();
    decide(2000 + ELASTIC_QUIET_MS);
    expect_update(JOIN_HOSTS_ADDED);
    decide(3000);
    expect_nothing();
    come(0, "a", 3000);
    decide(3000);
    expect_nothing();
    come(1, "a", 3001);
    decide(3001);
    expect_members(THESE(0, 1, 2));
    make_world();
}
END_TEST

START_TEST(a_rank_that_has_finished_does_not_disturb_the_others)
{
    come(0, "a", 0);
    come(1, "a", 0);
    come(2, "a", 0);
    decide(1000);
    make_world();
    hosts[2] = NULL;
    decide(5000);
    expect_nothing();
}
END_TEST

START_TEST(survivors_are_a_world_without_the_lost)
{
    come(0, "a", 0);
    come(1, "a", 0);
    come(2, "a", 0);
    decide(1000);
    make_world();
    elastic_broke(&elastic);
    hosts[1] = NULL;
    come(0, "a", 2000);
    come(2, "a", 2000);
    decide(2000 + ELASTIC_QUIET_MS);
    expect_members(THESE(0, 2));
    make_world();
}
END_TEST

START_TEST(a_rank_that_does_not_come_back_is_not_waited_for)
{
    come(0, "a", 0);
    come(1, "a", 0);
    come(2, "a", 0);
    decide(1000);
    make_world();
    elastic_broke(&elastic);
    come(0, "a", 2000);
    come(2, "a", 2000);
    decide(3000);
    expect_nothing();
    ck_assert_uint_eq(elastic_service_deadline(&rules, &elastic, true, 3000), 2000 + START_MS);
    decide(2000 + START_MS);
    expect_members(THESE(0, 2));
    make_world();
}
END_TEST

START_TEST(too_few_time_out)
{
    char text[JOIN_TEXT_MAX];
    come(0, "a", 500);
    ck_assert_uint_eq(elastic_service_deadline(&rules, &elastic, false, 5000), 500 + START_MS);
    ck_assert(!elastic_service_timed_out(&rules, &elastic, false, 499 + START_MS, text));
    ck_assert(elastic_service_timed_out(&rules, &elastic, false, 500 + START_MS, text));
    ck_assert_str_eq(text, "1 of at least 2 workers have come within 10 s");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elastic_service");
    TCase *tcase = tcase_create("elastic_service");
    suite_add_tcase(suite, tcase);
    tcase_add_checked_fixture(tcase, setup_elastic, teardown_elastic);
    tcase_add_test(tcase, fewer_than_the_minimum_are_no_world);
    tcase_add_test(tcase, the_minimum_is_a_world_once_nobody_new_comes);
    tcase_add_test(tcase, the_maximum_is_a_world_at_once);
    tcase_add_test(tcase, hosts_follow_each_other_by_their_oldest_worker);
    tcase_add_test(tcase, a_newcomer_is_news_for_the_world);
    tcase_add_test(tcase, a_rank_that_has_finished_does_not_disturb_the_others);
    tcase_add_test(tcase, survivors_are_a_world_without_the_lost);
    tcase_add_test(tcase, a_rank_that_does_not_come_back_is_not_waited_for);
    tcase_add_test(tcase, too_few_time_out);
    return unit_run(suite);
}
