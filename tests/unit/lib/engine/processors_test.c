/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/processors.h"

#include "tests/support/unit.h"

#include <sched.h>

#include <stddef.h>

static const struct {
    const char *text;
    int count;
} quotas[] = {
    { "200000 100000\n", 2 },
    { "150000 100000", 2 },
    { "50000\n100000\n", 1 },
    { "max 100000\n", 0 },
    { "-1\n100000\n", 0 },
    { "0 100000", 0 },
    { "100000", 0 },
    { "100000 0", 0 },
    { "9223372036854775807 1", 0 },
    { "", 0 },
    { "many", 0 },
};

START_TEST(a_quota_is_processors_rounded_up)
{
    ck_assert_int_eq(processors_of_quota(quotas[_i].text), quotas[_i].count);
}
END_TEST

static const struct {
    int online, all, own, quota, count;
} hosts[] = {
    { 8, 8, 8, 0, 8 }, /* nothing is limited */
    { 8, 8, 1, 0, 8 }, /* each rank is bound to one */
    { 8, 8, 4, 0, 4 }, /* so many are all ranks bound to, by whoever started them */
    { 8, 4, 4, 0, 4 }, /* a container's */
    { 8, 4, 1, 0, 4 }, /* and each rank is bound to one of them */
    { 8, 1, 1, 0, 1 }, /* that is all there is */
    { 8, 8, 8, 3, 3 },  { 8, 8, 2, 6, 2 }, { 8, 0, 0, 0, 8 }, /* nobody knows */
    { -1, 0, 0, 0, 1 },
};

START_TEST(ranks_share_what_they_are_kept_to)
{
    ck_assert_int_eq(
        processors_shared(hosts[_i].online, hosts[_i].all, hosts[_i].own, hosts[_i].quota),
        hosts[_i].count);
}
END_TEST

static const struct {
    const char *text, *controller, *path;
} groups[] = {
    { "0::/user.slice/a.scope\n", "", "/user.slice/a.scope" },
    { "0::/\n", "", "/" },
    { "0::/a:b\n", "", "/a:b" },
    { "9:name=systemd:/x\n2:cpuacct,cpu:/docker/1\n0::/y\n", "cpu", "/docker/1" },
    { "9:name=systemd:/x\n2:cpuacct,cpu:/docker/1\n0::/y\n", "", "/y" },
    { "1:cpu:/", "cpu", "/" },
    { "3:cpuset:/a\n2:cpuacct:/b\n", "cpu", NULL },
    { "0::/../outside\n", "", NULL },
    { "0::/far too long for the place that there is for it\n", "", NULL },
    { "no group\n", "", NULL },
    { "1:\n", "", NULL },
    { "1:pid:/a\n", "cpu", NULL },
    { "0::a\n", "", NULL },
    { "0::", "", NULL },
    { "", "", NULL },
};

START_TEST(a_group_is_found_by_its_controller)
{
    char path[32];
    bool found = processors_group(path, sizeof path, groups[_i].text, groups[_i].controller);
    ck_assert_int_eq(found, groups[_i].path != NULL);
    if (found)
        ck_assert_str_eq(path, groups[_i].path);
}
END_TEST

START_TEST(a_rank_waits_the_longer_the_more_share_its_processor)
{
    ck_assert_uint_eq(processors_spin_ns(1, 2), processors_spin_ns(2, 2));
    ck_assert_uint_eq(processors_spin_ns(3, 2), 2 * processors_spin_ns(2, 2));
    ck_assert_uint_eq(processors_spin_ns(16, 2), 8 * processors_spin_ns(2, 2));
}
END_TEST

START_TEST(a_rank_sleeps_however_many_share_its_processor)
{
    ck_assert_uint_eq(processors_spin_ns(65536, 1), processors_spin_ns(65535, 1));
}
END_TEST

START_TEST(ranks_that_are_bound_share_what_their_launcher_tells)
{
    cpu_set_t own, one;
    int cpu = 0, unlimited = processors_count(1 << 10);
    ck_assert_int_eq(sched_getaffinity(0, sizeof own, &own), 0);
    while (!CPU_ISSET((size_t)cpu, &own))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET((size_t)cpu, &one);
    ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
    ck_assert_int_eq(processors_count(1 << 10), unlimited);
    ck_assert_int_eq(processors_count(1), 1);
}
END_TEST

START_TEST(this_host_has_one_at_least)
{
    ck_assert_int_ge(processors_count(0), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("processors");
    TCase *tcase = tcase_create("processors");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_quota_is_processors_rounded_up, 0, sizeof quotas / sizeof *quotas);
    tcase_add_loop_test(tcase, ranks_share_what_they_are_kept_to, 0, sizeof hosts / sizeof *hosts);
    tcase_add_loop_test(tcase, a_group_is_found_by_its_controller, 0,
                        sizeof groups / sizeof *groups);
    tcase_add_test(tcase, a_rank_waits_the_longer_the_more_share_its_processor);
    tcase_add_test(tcase, a_rank_sleeps_however_many_share_its_processor);
    tcase_add_test(tcase, ranks_that_are_bound_share_what_their_launcher_tells);
    tcase_add_test(tcase, this_host_has_one_at_least);
    return unit_run(suite);
}
