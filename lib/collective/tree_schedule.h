/* SPDX-License-Identifier: Apache-2.0 */
/* The parent and children of each rank in a broadcast along a binomial tree. Pure arithmetic.
 *
 * Ranks are counted from the root on, around. Below each rank lies a contiguous range. A rank first
 * sends to the child whose range is half of the rest, so that all ranks are done after log2 steps:
 *
 *   0 -> 4, 2, 1;  4 -> 6, 5;  2 -> 3;  6 -> 7 */
#ifndef LIB_COLLECTIVE_TREE_SCHEDULE_H
#define LIB_COLLECTIVE_TREE_SCHEDULE_H

enum { TREE_CHILDREN_MOST = 31 };

/* -1 for the root. */
int tree_parent(int rank, int size, int root);

/* The children, in the order in which the rank sends to them. Returns how many. */
int tree_children(int rank, int size, int root, int children[TREE_CHILDREN_MOST]);

/* The parent, if there is one, then the children; `peers` has room for size - 1. Returns how
 * many. */
int tree_peers(int rank, int size, int root, int *peers);

#endif
