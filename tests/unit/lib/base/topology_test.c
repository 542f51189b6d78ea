/* SPDX-License-Identifier: Apache-2.0 */
/* Ring and tree, for every rank of many sizes. */
#include "lib/base/topology.h"

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

START_TEST(children_share_the_descendants_of_their_parent)
{
    for (int size = 1; size < SIZES; size++)
        for (int rank = 0; rank < size; rank++) {
            struct tree_position node, child;
            tree_position(&node, rank, size);
            int at = rank + 1;
            for (int i = 0; i < node.nchildren; i++) {
                ck_assert_int_eq(node.children[i], at);
                at = tree_child_end(&node, i);
                tree_position(&child, node.children[i], size);
                ck_assert_int_eq(child.parent, rank);
                ck_assert_int_eq(child.end, at);
            }
            ck_assert_int_eq(at, node.end);
        }
}
END_TEST

START_TEST(rank_zero_is_the_root_of_all)
{
    struct tree_position root;
    for (int size = 1; size < SIZES; size++) {
        tree_position(&root, 0, size);
        ck_assert_int_eq(root.parent, -1);
        ck_assert_int_eq(root.end, size);
    }
}
END_TEST

START_TEST(the_tree_is_as_low_as_its_width_allows)
{
    int depth = 0;
    struct tree_position node;
    for (int rank = 999; rank != 0; rank = node.parent, depth++)
        tree_position(&node, rank, 1000);
    ck_assert_int_le(depth, 5);
}
END_TEST

static bool are_neighbours(int rank, int other, int size)
{
    int ranks[NEIGHBOURS_MAX];
    int count = neighbours(ranks, rank, size);
    for (int i = 0; i < count; i++)
        if (ranks[i] == other)
            return true;
    return false;
}

START_TEST(neighbours_are_mutual_ascending_and_not_oneself)
{
    for (int size = 1; size < 60; size++)
        for (int rank = 0; rank < size; rank++) {
            int ranks[NEIGHBOURS_MAX];
            int count = neighbours(ranks, rank, size);
            for (int i = 0; i < count; i++) {
                ck_assert_int_ne(ranks[i], rank);
                ck_assert(i == 0 || ranks[i - 1] < ranks[i]);
                ck_assert(are_neighbours(ranks[i], rank, size));
            }
            ck_assert(size == 1 || are_neighbours(rank, ring_left(rank, size), size));
        }
}
END_TEST

START_TEST(two_ranks_are_one_neighbour_each)
{
    int ranks[NEIGHBOURS_MAX];
    ck_assert_int_eq(neighbours(ranks, 0, 2), 1);
    ck_assert_int_eq(ranks[0], 1);
    ck_assert_int_eq(neighbours(ranks, 0, 1), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("topology");
    TCase *tcase = tcase_create("topology");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, left_and_right_are_inverse);
    tcase_add_test(tcase, children_share_the_descendants_of_their_parent);
    tcase_add_test(tcase, rank_zero_is_the_root_of_all);
    tcase_add_test(tcase, the_tree_is_as_low_as_its_width_allows);
    tcase_add_test(tcase, neighbours_are_mutual_ascending_and_not_oneself);
    tcase_add_test(tcase, two_ranks_are_one_neighbour_each);
    return unit_run(suite);
}
