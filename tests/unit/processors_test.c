/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/engine/processors.h"

#include "tests/support/unit.h"

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
    int online, own, quota, count;
} hosts[] = {
    { 8, 8, 0, 8 },                                  /* nothing is limited */
    { 8, 1, 0, 8 },                                  /* each rank is bound to one */
    { 8, 4, 0, 4 },                                  /* a container's */
    { 8, 8, 3, 3 },  { 8, 2, 6, 2 }, { 8, 0, 0, 8 }, /* nobody knows */
    { -1, 0, 0, 1 },
};

START_TEST(ranks_share_what_they_are_kept_to)
{
    ck_assert_int_eq(processors_shared(hosts[_i].online, hosts[_i].own, hosts[_i].quota),
                     hosts[_i].count);
}
END_TEST

START_TEST(this_host_has_one_at_least)
{
    ck_assert_int_ge(processors_count(), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("processors");
    TCase *tcase = tcase_create("processors");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, a_quota_is_processors_rounded_up, 0, sizeof quotas / sizeof *quotas);
    tcase_add_loop_test(tcase, ranks_share_what_they_are_kept_to, 0, sizeof hosts / sizeof *hosts);
    tcase_add_test(tcase, this_host_has_one_at_least);
    return unit_run(suite);
}
