/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of agents of every width and size that matter, without a host. */
#include "launcher/tree/host_tree.h"
#include "tests/support/unit.h"

#include <stdlib.h>

enum { HOSTS_MAX = 300 };

static struct host_tree tree;

/* Adds the hosts below `host` to the count of each, and looks at each. */
static void count_children(int host, int *seen)
{
    const int *children = NULL;
    int count = host_tree_children(&tree, host, &children);
    ck_assert_int_le(count, tree.width);
    for (int i = 0; i < count; i++) {
        ck_assert_int_eq(tree.parents[children[i]], host);
        ck_assert_int_gt(children[i], host);
        seen[children[i]]++;
    }
}

START_TEST(each_host_has_one_parent_which_comes_before_it)
{
    static const int widths[] = { 2, 3, 7, 32, 64, 299, 300, 1024 };
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int nhosts = 0; nhosts <= HOSTS_MAX; nhosts += nhosts < 40 ? 1 : 13) {
            int seen[HOSTS_MAX + 1] = { 0 };
            host_tree_init(&tree, nhosts, widths[w], NULL);
            for (int host = HOST_TREE_ROOT; host < nhosts; host++)
                count_children(host, seen);
            for (int host = 0; host < nhosts; host++)
                ck_assert_int_eq(seen[host], 1);
            host_tree_fini(&tree);
        }
}
END_TEST

START_TEST(without_a_width_hvdrun_starts_all)
{
    const int *children;
    host_tree_init(&tree, 5, 0, NULL);
    for (int host = 0; host < 5; host++) {
        ck_assert_int_eq(tree.parents[host], HOST_TREE_ROOT);
        ck_assert_int_eq(host_tree_children(&tree, host, &children), 0);
    }
    host_tree_fini(&tree);
}
END_TEST

START_TEST(a_width_of_all_hosts_or_more_is_flat)
{
    for (int width = 5; width < 8; width++) {
        host_tree_init(&tree, 5, width, NULL);
        for (int host = 0; host < 5; host++)
            ck_assert_int_eq(tree.parents[host], HOST_TREE_ROOT);
        host_tree_fini(&tree);
    }
}
END_TEST

/* Also where the first hosts are direct, and so take no places. */
START_TEST(direct_hosts_are_started_by_hvdrun_and_start_nobody)
{
    static const bool direct[] = { true, false, false, true, false, false, false };
    static const int parents[] = { -1, -1, -1, -1, 1, 1, 2 };
    const int *children;
    host_tree_init(&tree, 7, 2, direct);
    for (int host = 0; host < 7; host++) {
        ck_assert_int_eq(tree.parents[host], parents[host]);
        if (direct[host])
            ck_assert_int_eq(host_tree_children(&tree, host, &children), 0);
    }
    host_tree_fini(&tree);
}
END_TEST

START_TEST(two_steps_are_enough_for_the_hosts_of_the_manual)
{
    host_tree_init(&tree, 1057, HOST_TREE_WIDTH, NULL);
    ck_assert_int_eq(host_tree_depth(&tree, 0), 1);
    ck_assert_int_eq(host_tree_depth(&tree, 31), 1);
    ck_assert_int_eq(host_tree_depth(&tree, 32), 2);
    ck_assert_int_eq(host_tree_depth(&tree, 1055), 2);
    ck_assert_int_eq(host_tree_depth(&tree, 1056), 3);
    host_tree_fini(&tree);
}
END_TEST

START_TEST(the_help_prints_the_numbers_that_are_used)
{
    ck_assert_int_eq(atoi(HOST_TREE_FROM_TEXT), HOST_TREE_FROM);
    ck_assert_int_eq(atoi(HOST_TREE_WIDTH_DEFAULT), HOST_TREE_WIDTH);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_tree");
    TCase *tcase = tcase_create("tree");
    tcase_add_test(tcase, each_host_has_one_parent_which_comes_before_it);
    tcase_add_test(tcase, without_a_width_hvdrun_starts_all);
    tcase_add_test(tcase, a_width_of_all_hosts_or_more_is_flat);
    tcase_add_test(tcase, direct_hosts_are_started_by_hvdrun_and_start_nobody);
    tcase_add_test(tcase, two_steps_are_enough_for_the_hosts_of_the_manual);
    tcase_add_test(tcase, the_help_prints_the_numbers_that_are_used);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
