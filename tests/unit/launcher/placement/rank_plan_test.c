/* SPDX-License-Identifier: Apache-2.0 */
/* Where ranks are placed: horovod's numbering, with np honoured. */
#include "launcher/placement/rank_plan.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static struct host_list hosts;
static struct rank_plan plan;
static struct err err;

static void set_hosts(const char *text)
{
    host_list_fini(&hosts);
    ck_assert_int_eq(host_list_parse(&hosts, text, strlen(text), "-H", &err), HVD_OK);
}

static void release(void)
{
    rank_plan_fini(&plan);
    host_list_fini(&hosts);
}

/* host, local_rank, local_size, cross_rank, cross_size */
struct expected_rank {
    const char *host;
    int local_rank, local_size, cross_rank, cross_size;
};

static void expect_plan(const struct expected_rank *expected, size_t count)
{
    ck_assert_uint_eq((size_t)plan.size, count);
    for (size_t i = 0; i < count; i++) {
        const struct rank_info *rank_info = &plan.ranks[i].rank_info;
        const struct rank_host *host = &plan.hosts[plan.ranks[i].host];
        ck_assert_uint_eq((size_t)rank_info->rank, i);
        ck_assert_uint_eq((size_t)rank_info->size, count);
        ck_assert_str_eq(host->host->name, expected[i].host);
        ck_assert_int_eq(rank_info->local_rank, expected[i].local_rank);
        ck_assert_int_eq(rank_info->local_size, expected[i].local_size);
        ck_assert_int_eq(rank_info->cross_rank, expected[i].cross_rank);
        ck_assert_int_eq(rank_info->cross_size, expected[i].cross_size);
        ck_assert_int_eq(host->local_size, rank_info->local_size);
        ck_assert_int_eq(host->ranks[rank_info->local_rank], rank_info->rank);
    }
}

START_TEST(unequal_hosts_are_numbered_as_horovod_does)
{
    static const struct expected_rank expected[] = {
        { "h1", 0, 2, 0, 3 }, { "h1", 1, 2, 0, 2 }, { "h2", 0, 4, 1, 3 }, { "h2", 1, 4, 1, 2 },
        { "h2", 2, 4, 0, 1 }, { "h2", 3, 4, 0, 1 }, { "h3", 0, 1, 2, 3 },
    };
    set_hosts("h1:2,h2:4,h3:1");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 7, RANKS_BY_SLOT, &err), HVD_OK);
    expect_plan(expected, COUNT(expected));
    ck_assert(!plan.homogeneous);
    ck_assert_int_eq(plan.host_count, 3);
}
END_TEST

START_TEST(fewer_ranks_than_slots_stop_in_the_middle_of_a_host)
{
    static const struct expected_rank expected[] = {
        { "h1", 0, 2, 0, 2 },
        { "h1", 1, 2, 0, 1 },
        { "h2", 0, 1, 1, 2 },
    };
    set_hosts("h1:2,h2:4,h3:1");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 3, RANKS_BY_SLOT, &err), HVD_OK);
    expect_plan(expected, COUNT(expected));
    ck_assert(!plan.homogeneous);
    ck_assert_int_eq(plan.host_count, 2);
}
END_TEST

START_TEST(by_node_each_host_gets_one_in_its_turn)
{
    static const struct expected_rank expected[] = {
        { "h1", 0, 2, 0, 3 }, { "h2", 0, 4, 1, 3 }, { "h3", 0, 1, 2, 3 }, { "h1", 1, 2, 0, 2 },
        { "h2", 1, 4, 1, 2 }, { "h2", 2, 4, 0, 1 }, { "h2", 3, 4, 0, 1 },
    };
    set_hosts("h1:2,h2:4,h3:1");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 7, RANKS_BY_NODE, &err), HVD_OK);
    expect_plan(expected, COUNT(expected));
    ck_assert(!plan.homogeneous);
}
END_TEST

START_TEST(by_node_fewer_ranks_than_slots_are_spread)
{
    static const struct expected_rank expected[] = {
        { "h1", 0, 2, 0, 3 },
        { "h2", 0, 1, 1, 3 },
        { "h3", 0, 1, 2, 3 },
        { "h1", 1, 2, 0, 1 },
    };
    set_hosts("h1:4,h2:4,h3:4");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 4, RANKS_BY_NODE, &err), HVD_OK);
    expect_plan(expected, COUNT(expected));
}
END_TEST

START_TEST(by_node_hosts_that_get_none_are_left_out)
{
    set_hosts("a:2,b:2,c:2");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 2, RANKS_BY_NODE, &err), HVD_OK);
    ck_assert_int_eq(plan.host_count, 2);
    ck_assert(plan.homogeneous);
}
END_TEST

START_TEST(one_rank_is_a_world)
{
    static const struct expected_rank expected[] = { { "localhost", 0, 1, 0, 1 } };
    set_hosts("localhost:3,b:3");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 1, RANKS_BY_SLOT, &err), HVD_OK);
    expect_plan(expected, COUNT(expected));
    ck_assert(plan.homogeneous);
    ck_assert_int_eq(plan.host_count, 1);
}
END_TEST

START_TEST(equal_hosts_are_homogeneous)
{
    set_hosts("a:2,b:2,c:5");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 6, RANKS_BY_SLOT, &err), HVD_OK);
    ck_assert(plan.homogeneous);
}
END_TEST

START_TEST(a_host_that_gets_no_rank_is_left_out)
{
    set_hosts("a:2,b:2");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 2, RANKS_BY_SLOT, &err), HVD_OK);
    ck_assert_int_eq(plan.host_count, 1);
    ck_assert(plan.homogeneous);
}
END_TEST

struct refused_case {
    const char *hosts;
    int np;
    const char *error;
};

START_TEST(a_count_that_cannot_be_placed_is_refused_in_words)
{
    static const struct refused_case cases[] = {
        { "localhost:2", 3,
          "-np: 3 ranks asked for, but 2 slots on 1 host (localhost:2); write localhost:3" },
        { "a", 2, "-np: 2 ranks asked for, but 1 slot on 1 host (a:1); write a:2" },
        { "a,b", 4, "-np: 4 ranks asked for, but 2 slots on 2 hosts (a:1, b:1); write a:2,b:2" },
        { "a:4,b", 6, "-np: 6 ranks asked for, but 5 slots on 2 hosts (a:4, b:1); write a:4,b:2" },
        { "me@a,[::1]", 3,
          "-np: 3 ranks asked for, but 2 slots on 2 hosts (me@a:1, [::1]:1); write "
          "me@a:2,[::1]:2" },
        { "a:2,b:2", 8,
          "-np: 8 ranks asked for, but 4 slots on 2 hosts (a:2, b:2); write a:4,b:4" },
        { "a,b,c,d,e", 6,
          "-np: 6 ranks asked for, but 5 slots on 5 hosts (a:1, b:1, c:1, d:1, ...); "
          "write a:2,b:2,c:2,d:2,..." },
        { "a:65536,b:65536,c", 0,
          "131073 slots on 3 hosts, and a job has at most 131072 ranks (-np)" },
        { "a", -1, "-np: out of range (1 to 131072): '-1'" },
        { "a:65536,b:65536,c", 131073, "-np: out of range (1 to 131072): '131073'" },
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        set_hosts(cases[i].hosts);
        ck_assert_int_eq(rank_plan_make(&plan, &hosts, cases[i].np, RANKS_BY_SLOT, &err),
                         HVD_ERR_INVALID);
        ck_assert_str_eq(err.text, cases[i].error);
        ck_assert(!plan.ranks && !plan.hosts && plan.size == 0);
    }
}
END_TEST

START_TEST(the_place_where_the_hosts_are_written_is_named)
{
    set_hosts("a,b");
    hosts.source = "hosts.txt";
    rank_plan_make(&plan, &hosts, 3, RANKS_BY_SLOT, &err);
    ck_assert_str_eq(err.text, "-np: 3 ranks asked for, but hosts.txt has 2 slots on 2 hosts "
                               "(a:1, b:1); write a:2,b:2");
    hosts.source = "$LSB_HOSTS";
    hosts.is_allocation = true;
    rank_plan_make(&plan, &hosts, 3, RANKS_BY_SLOT, &err);
    ck_assert_str_eq(err.text, "-np: 3 ranks asked for, but $LSB_HOSTS has 2 slots on 2 hosts "
                               "(a:1, b:1); write -H a:2,b:2");
}
END_TEST

START_TEST(the_largest_world_on_the_most_hosts_adds_up)
{
    static const enum rank_order orders[] = { RANKS_BY_SLOT, RANKS_BY_NODE };
    char text[HOST_COUNT_MAX * 10], *at = text;
    for (int i = 0; i < HOST_COUNT_MAX; i++)
        at += sprintf(at, "%sh%d:%d", i ? "," : "", i, 1 + i % 15);
    set_hosts(text);
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 131050, orders[_i], &err), HVD_OK);
    long cross = 0;
    for (int rank = 0; rank < plan.size; rank++) {
        const struct rank_info *rank_info = &plan.ranks[rank].rank_info;
        ck_assert_int_eq(rank_info->rank, rank);
        ck_assert_int_lt(rank_info->local_rank, rank_info->local_size);
        ck_assert_int_lt(rank_info->cross_rank, rank_info->cross_size);
        cross += rank_info->cross_rank == 0; /* one for each local rank that exists */
    }
    ck_assert_int_eq(cross, 15);
}
END_TEST

START_TEST(without_a_number_every_slot_gets_a_rank)
{
    set_hosts("a:2,b:3,c");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 0, RANKS_BY_SLOT, &err), HVD_OK);
    ck_assert_int_eq(plan.size, 6);
    ck_assert_int_eq(plan.hosts[1].local_size, 3);
}
END_TEST

START_TEST(the_table_is_aligned)
{
    set_hosts("h1:2,node-b.example:1");
    ck_assert_int_eq(rank_plan_make(&plan, &hosts, 3, RANKS_BY_SLOT, &err), HVD_OK);
    char *table = rank_plan_table(&plan);
    ck_assert_str_eq(table,
                     " rank  host            local_rank  local_size  cross_rank  cross_size\n"
                     "    0  h1                       0           2           0           2\n"
                     "    1  h1                       1           2           0           1\n"
                     "    2  node-b.example           0           1           1           2\n");
    free(table);
}
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("rank_plan");
    TCase *plans = tcase_create("plans");
    tcase_add_checked_fixture(plans, NULL, release);
    tcase_add_test(plans, unequal_hosts_are_numbered_as_horovod_does);
    tcase_add_test(plans, fewer_ranks_than_slots_stop_in_the_middle_of_a_host);
    tcase_add_test(plans, by_node_each_host_gets_one_in_its_turn);
    tcase_add_test(plans, by_node_fewer_ranks_than_slots_are_spread);
    tcase_add_test(plans, by_node_hosts_that_get_none_are_left_out);
    tcase_add_test(plans, one_rank_is_a_world);
    tcase_add_test(plans, equal_hosts_are_homogeneous);
    tcase_add_test(plans, a_host_that_gets_no_rank_is_left_out);
    tcase_add_test(plans, a_count_that_cannot_be_placed_is_refused_in_words);
    tcase_add_test(plans, the_place_where_the_hosts_are_written_is_named);
    tcase_add_test(plans, without_a_number_every_slot_gets_a_rank);
    tcase_add_loop_test(plans, the_largest_world_on_the_most_hosts_adds_up, 0, 2);
    tcase_add_test(plans, the_table_is_aligned);
    suite_add_tcase(suite, plans);
    return suite;
}

int main(void)
{
    return unit_run(suite());
}
