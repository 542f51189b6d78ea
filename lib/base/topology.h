/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbours of each rank in a world, or a process set, of `size` ranks. Pure arithmetic.
 *
 * The ring goes from each rank to the next. The root of the tree is rank 0; below each rank lies a
 * contiguous range of ranks, [rank, tree_end), so that ranks of one host, which are consecutive,
 * lie close together, and data gathered up the tree arrives in order of rank.
 *
 * The tree has one of two shapes, which `star` tells apart:
 *
 *   star 1   each rank has up to TREE_BRANCHES children. Ranks that have a processor each work at
 *            the same time, so it pays to share the work of a root of many.
 *   star N   each N consecutive ranks share a host whose processors are fewer (tree_star()). The
 *            first of them leads: the others are its children, or lie two levels below it if they
 *            are more than it can have. Leaders have up to TREE_BRANCHES leaders as further
 *            children. Ranks that share a processor work one
 *            after the other, so each level of a tree costs a turn of all of them.
 *
 * All ranks of a world must use the same star: the rendezvous decides on it. */
#ifndef LIB_BASE_TOPOLOGY_H
#define LIB_BASE_TOPOLOGY_H

/* TREE_CHILDREN_MAX: this rank and its children are the bits of an unsigned number. */
enum {
    TREE_BRANCHES = 4,
    TREE_CHILDREN_MAX = 31,
    NEIGHBOURS_MAX = 2 + 1 + TREE_CHILDREN_MAX /* left, right, parent, children */
};

/* The star for `size` ranks, of which number i is on host hosts[i], if hosts have fewer processors
 * than ranks: the number of ranks on each host, if it is the same on all hosts and the numbers of
 * hosts ascend; or else 1. */
int tree_star(const int *hosts, int size);

int ring_left(int rank, int size);
int ring_right(int rank, int size);

struct tree_position {
    int parent; /* -1 at the root */
    int end;    /* the ranks below and including this one are [rank, end) */
    int nchildren;
    int children[TREE_CHILDREN_MAX]; /* ascending; the range of child i ends where that of child
                                        i + 1 begins, the last one's at `end` */
};

/* A star below 1 is 1; so is any in a set of at most TOPOLOGY_MESH_MAX ranks. */
void tree_position(struct tree_position *position, int rank, int size, int star);

/* The end of the range of child `index`. */
int tree_child_end(const struct tree_position *position, int index);

/* In a set of at most this size every rank has a link to every other rank: all ranks are children
 * of rank 0, and they can do without it (lib/negotiation/steady.h). */
enum { TOPOLOGY_MESH_MAX = TREE_BRANCHES + 1 };

/* Every other rank that `rank` has a link to from the start, ascending and without duplicates.
 * Returns their number. */
int neighbours(int ranks[NEIGHBOURS_MAX], int rank, int size, int star);

#endif
