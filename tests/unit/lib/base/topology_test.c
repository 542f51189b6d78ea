/* SPDX-License-Identifier: Apache-2.0 */
/* Ring and tree, for every rank of many sizes. */
#include "lib/base/topology.h"

#include "lib/base/rank_info.h"
#include "tests/support/unit.h"

#include <stdbool.h>

enum { SIZES = 200 };

START_TEST(left_and_right_are_inverse)
{
    for (int size = 1; size < SIZES; size++)
        for (int rank = 0; rank < size; rank++) {
            ck_assert_int_eq(ring_left(ring_right(rank, size), size), rank);
            ck_assert_int_eq(ring_right(rank, size), (rank + 1) % size);
        }
}
END_TEST

static const int stars[] = { 0, 1, 2, 3, 4, 8, 31, 32, 33, 64, SIZES };

START_TEST(children_share_the_descendants_of_their_parent)
{
    int star = stars[_i];
    for (int size = 1; size < SIZES; size++)
        for (int rank = 0; rank < size; rank++) {
            struct tree_position node, child;
            tree_position(&node, rank, size, star);
            int at = rank + 1;
            for (int i = 0; i < node.nchildren; i++) {
                if (node.children[i] != at)
                    ck_abort_msg("%d of %d, star %d: child %d", rank, size, star, i);
                at = tree_child_end(&node, i);
                tree_position(&child, node.children[i], size, star);
                if (child.parent != rank || child.end != at)
                    ck_abort_msg("%d of %d, star %d: child %d", rank, size, star, i);
            }
            ck_assert_int_eq(at, node.end);
        }
}
END_TEST

START_TEST(rank_zero_is_the_root_of_all)
{
    struct tree_position root;
    for (int size = 1; size < SIZES; size++) {
        tree_position(&root, 0, size, stars[_i]);
        ck_assert_int_eq(root.parent, -1);
        ck_assert_int_eq(root.end, size);
    }
}
END_TEST

static int depth_of(int rank, int size, int star)
{
    int depth = 0;
    struct tree_position node;
    for (; rank != 0; rank = node.parent, depth++)
        tree_position(&node, rank, size, star);
    return depth;
}

START_TEST(the_tree_is_as_low_as_its_width_allows)
{
    ck_assert_int_le(depth_of(999, 1000, 1), 5);
    ck_assert_int_le(depth_of(WORLD_SIZE_MAX - 1, WORLD_SIZE_MAX, WORLD_SIZE_MAX), 4);
}
END_TEST

/* With a processor for each rank, whatever the hosts. */
START_TEST(a_tree_without_stars_has_four_children_at_most)
{
    for (int size = 1; size < SIZES; size++)
        for (int rank = 0; rank < size; rank++) {
            struct tree_position node;
            tree_position(&node, rank, size, 1);
            ck_assert_int_le(node.nchildren, TREE_BRANCHES);
        }
}
END_TEST

START_TEST(all_ranks_of_a_crowded_host_are_children_of_its_first)
{
    for (int size = 1; size <= TREE_CHILDREN_MAX + 1; size++) {
        struct tree_position root;
        tree_position(&root, 0, size, size);
        ck_assert_int_eq(root.nchildren, size - 1);
    }
}
END_TEST

START_TEST(a_host_with_more_ranks_than_children_has_two_levels_equally_wide)
{
    static const struct {
        int size, width;
    } rows[] = { { 33, 6 }, { 64, 8 }, { 65, 8 }, { 128, 11 }, { 512, 23 }, { 1024, 31 } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tree_position root;
        int size = rows[i].size;
        tree_position(&root, 0, size, size);
        ck_assert_int_eq(root.nchildren, rows[i].width);
        for (int rank = 1; rank < size && size < 992; rank++)
            ck_assert_int_le(depth_of(rank, size, size), 2);
    }
}
END_TEST

START_TEST(a_set_of_at_most_five_ranks_is_a_star_whatever_its_hosts)
{
    for (size_t i = 0; i < sizeof stars / sizeof *stars; i++)
        for (int size = 1; size <= TOPOLOGY_MESH_MAX; size++) {
            struct tree_position root;
            tree_position(&root, 0, size, stars[i]);
            ck_assert_int_eq(root.nchildren, size - 1);
        }
}
END_TEST

/* Between hosts there are the links of a tree of their first ranks, and no others. */
START_TEST(only_first_ranks_of_hosts_have_links_of_the_tree_to_other_hosts)
{
    int star = stars[_i];
    if (star < 2)
        return;
    for (int size = TOPOLOGY_MESH_MAX + 1; size < SIZES; size++)
        for (int rank = 1; rank < size; rank++) {
            struct tree_position node, parent;
            tree_position(&node, rank, size, star);
            bool leads = rank % star == 0;
            if (leads && node.parent % star != 0)
                ck_abort_msg("%d of %d, star %d", rank, size, star);
            if (!leads && node.parent / star != rank / star)
                ck_abort_msg("%d of %d, star %d", rank, size, star);
            tree_position(&parent, node.parent, size, star);
            int leaders = 0;
            for (int i = 0; i < parent.nchildren; i++)
                leaders += parent.children[i] % star == 0;
            ck_assert_int_le(leaders, TREE_BRANCHES);
        }
}
END_TEST

START_TEST(a_star_is_as_large_as_all_hosts)
{
    static const struct {
        int size, hosts[8], star;
    } rows[] = {
        { 1, { 0 }, 1 },
        { 2, { 0, 0 }, 2 },
        { 2, { 0, 1 }, 1 },
        { 6, { 0, 0, 0, 0, 0, 0 }, 6 },
        { 6, { 0, 0, 1, 1, 2, 2 }, 2 },
        { 6, { 1, 1, 1, 5, 5, 5 }, 3 },
        { 6, { 0, 0, 0, 0, 1, 1 }, 1 }, /* hosts of different sizes */
        { 6, { 0, 0, 1, 1, 1, 1 }, 1 },
        { 3, { 0, 0, 1 }, 1 },
        { 6, { 0, 1, 2, 0, 1, 2 }, 1 }, /* ranks of a host apart from each other */
        { 6, { 0, 0, 1, 1, 0, 0 }, 1 },
        { 4, { 1, 1, 0, 0 }, 1 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (tree_star(rows[i].hosts, rows[i].size) != rows[i].star)
            ck_abort_msg("row %zu: %d", i, tree_star(rows[i].hosts, rows[i].size));
}
END_TEST

static bool are_neighbours(int rank, int other, int size, int star)
{
    int ranks[NEIGHBOURS_MAX];
    int count = neighbours(ranks, rank, size, star);
    for (int i = 0; i < count; i++)
        if (ranks[i] == other)
            return true;
    return false;
}

static void check_neighbours(int rank, int size, int star)
{
    int ranks[NEIGHBOURS_MAX];
    int count = neighbours(ranks, rank, size, star);
    for (int i = 0; i < count; i++)
        if (ranks[i] == rank || (i > 0 && ranks[i - 1] >= ranks[i]) ||
            !are_neighbours(ranks[i], rank, size, star))
            ck_abort_msg("%d of %d, star %d: %d", rank, size, star, ranks[i]);
    ck_assert(size == 1 || are_neighbours(rank, ring_left(rank, size), size, star));
}

START_TEST(neighbours_are_mutual_ascending_and_not_oneself)
{
    for (int size = 1; size < 60; size++)
        for (int rank = 0; rank < size; rank++)
            check_neighbours(rank, size, stars[_i]);
}
END_TEST

START_TEST(two_ranks_are_one_neighbour_each)
{
    int ranks[NEIGHBOURS_MAX];
    ck_assert_int_eq(neighbours(ranks, 0, 2, 2), 1);
    ck_assert_int_eq(ranks[0], 1);
    ck_assert_int_eq(neighbours(ranks, 0, 1, 1), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology");
    TCase *tcase = tcase_create("topology");
    int nstars = sizeof stars / sizeof *stars;
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, left_and_right_are_inverse);
    tcase_add_loop_test(tcase, children_share_the_descendants_of_their_parent, 0, nstars);
    tcase_add_loop_test(tcase, rank_zero_is_the_root_of_all, 0, nstars);
    tcase_add_test(tcase, the_tree_is_as_low_as_its_width_allows);
    tcase_add_loop_test(tcase, neighbours_are_mutual_ascending_and_not_oneself, 0, nstars);
    tcase_add_test(tcase, a_tree_without_stars_has_four_children_at_most);
    tcase_add_test(tcase, all_ranks_of_a_crowded_host_are_children_of_its_first);
    tcase_add_test(tcase, a_host_with_more_ranks_than_children_has_two_levels_equally_wide);
    tcase_add_test(tcase, a_set_of_at_most_five_ranks_is_a_star_whatever_its_hosts);
    tcase_add_loop_test(tcase, only_first_ranks_of_hosts_have_links_of_the_tree_to_other_hosts, 0,
                        nstars);
    tcase_add_test(tcase, a_star_is_as_large_as_all_hosts);
    tcase_add_test(tcase, two_ranks_are_one_neighbour_each);
    return unit_run(suite);
}
