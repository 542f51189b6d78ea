/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of agents of every width and size that matter, without a host. */
#include "launcher/tree/host_tree.h"
#include "tests/support/unit.h"

#include <stdlib.h>
#include <string.h>

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

/* How often hvdrun sends a frame so that all get one, and whether each host gets exactly one. */
static int count_frames(const enum host_cast *casts)
{
    int frames = 0;
    for (int host = 0; host < tree.nhosts; host++) {
        int above = tree.parents[host];
        bool passed_on = above != HOST_TREE_ROOT && casts[above] != CAST_TO_HOST;
        ck_assert_int_eq(casts[host] == CAST_BY_PARENT, passed_on);
        frames += casts[host] != CAST_BY_PARENT;
    }
    return frames;
}

START_TEST(a_frame_for_all_hosts_goes_once_to_the_first_level)
{
    bool hears[13];
    enum host_cast casts[13];
    memset(hears, true, sizeof hears);
    host_tree_init(&tree, 13, 3, NULL); /* 0 1 2   3 4 5  6 7 8  9 10 11   12 */
    host_tree_casts(&tree, hears, casts);
    ck_assert_int_eq(count_frames(casts), 3);
    for (int host = 0; host < 3; host++)
        ck_assert_int_eq(casts[host], CAST_TO_SUBTREE);
    host_tree_fini(&tree);
}
END_TEST

/* A host that does not hear, how many frames hvdrun sends then, and to whom with all below. */
static const struct {
    int unreached, frames;
    const char *to_subtree;
} unreached_hosts[] = {
    { 0, 3, "012" }, /* it has a link from hvdrun */
    { 3, 6, "123" }, /* 0 4 5 alone */
    { 5, 6, "123" }, /* 0 4 5 alone; 12 gets that of 3 */
    { 11, 6, "01" }, /* 2 9 10 11 alone */
    { 12, 7, "12" }, /* 0 3 4 5 12 alone */
};

START_TEST(a_host_that_does_not_hear_and_its_parents_get_frames_of_their_own)
{
    bool hears[13];
    enum host_cast casts[13];
    char to_subtree[14] = "";
    memset(hears, true, sizeof hears);
    hears[unreached_hosts[_i].unreached] = false;
    host_tree_init(&tree, 13, 3, NULL);
    host_tree_casts(&tree, hears, casts);
    ck_assert_int_eq(count_frames(casts), unreached_hosts[_i].frames);
    for (int host = 0; host < 13; host++) {
        char digit[2] = { (char)('0' + host), '\0' };
        if (casts[host] == CAST_TO_SUBTREE)
            strcat(to_subtree, digit);
    }
    ck_assert_str_eq(to_subtree, unreached_hosts[_i].to_subtree);
    ck_assert_int_ne(casts[unreached_hosts[_i].unreached], CAST_BY_PARENT);
    host_tree_fini(&tree);
}
END_TEST

START_TEST(where_nobody_hears_each_host_gets_a_frame)
{
    static const bool hears[300];
    static enum host_cast casts[300];
    static const int widths[] = { 0, 2, 7, 300 };
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        host_tree_init(&tree, 300, widths[i], NULL);
        host_tree_casts(&tree, hears, casts);
        ck_assert_int_eq(count_frames(casts), 300);
        for (int host = 0; host < 300; host++)
            ck_assert_int_eq(casts[host], CAST_TO_HOST);
        host_tree_fini(&tree);
    }
}
END_TEST

START_TEST(a_tree_without_hosts_has_no_frames)
{
    host_tree_init(&tree, 0, 2, NULL);
    host_tree_casts(&tree, NULL, NULL);
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
    tcase_add_test(tcase, a_frame_for_all_hosts_goes_once_to_the_first_level);
    tcase_add_loop_test(tcase, a_host_that_does_not_hear_and_its_parents_get_frames_of_their_own, 0,
                        sizeof unreached_hosts / sizeof *unreached_hosts);
    tcase_add_test(tcase, where_nobody_hears_each_host_gets_a_frame);
    tcase_add_test(tcase, a_tree_without_hosts_has_no_frames);
    tcase_add_test(tcase, the_help_prints_the_numbers_that_are_used);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
