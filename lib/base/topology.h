/* SPDX-License-Identifier: Apache-2.0 */
/* The neighbours of each rank in a world, or a process set, of `size` ranks. Pure arithmetic.
 *
 * The ring goes from each rank to the next. The root of the tree is rank 0; below each rank lies a
 * contiguous range of ranks, [rank, tree_end), so that ranks of one host, which are consecutive,
 * lie close together, and data gathered up the tree arrives in order of rank. */
#ifndef LIB_BASE_TOPOLOGY_H
#define LIB_BASE_TOPOLOGY_H

enum {
    TREE_CHILDREN_MAX = 4,
    NEIGHBOURS_MAX = 2 + 1 + TREE_CHILDREN_MAX /* left, right, parent, children */
};

int ring_left(int rank, int size);
int ring_right(int rank, int size);

struct tree_position {
    int parent; /* -1 at the root */
    int end;    /* the ranks below and including this one are [rank, end) */
    int nchildren;
    int children[TREE_CHILDREN_MAX]; /* ascending; the range of child i ends where that of child
                                        i + 1 begins, the last one's at `end` */
};

void tree_position(struct tree_position *position, int rank, int size);

/* The end of the range of child `index`. */
int tree_child_end(const struct tree_position *position, int index);

/* In a set of at most this size every rank has a link to every other rank: the tree is a star, and
 * the ranks can do without its root (lib/negotiation/steady.h). */
enum { TOPOLOGY_MESH_MAX = TREE_CHILDREN_MAX + 1 };

/* Every other rank that `rank` has a link to from the start, ascending and without duplicates.
 * Returns their number. */
int neighbours(int ranks[NEIGHBOURS_MAX], int rank, int size);

#endif
