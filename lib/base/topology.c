/* SPDX-License-Identifier: Apache-2.0 */
/* Ring and tree; see topology.h. */
#include "lib/base/topology.h"

int ring_left(int rank, int size)
{
    return (rank + size - 1) % size;
}

int ring_right(int rank, int size)
{
    return (rank + 1) % size;
}

/* The ranks below the root of a range are cut into parts that are as equal as possible; each part's
 * first rank is a child. */
static void topology_cut(struct tree_position *position, int rank, int end)
{
    int below = end - rank - 1;
    position->end = end;
    position->nchildren = below < TREE_CHILDREN_MAX ? below : TREE_CHILDREN_MAX;
    for (int i = 0, at = rank + 1; i < position->nchildren; i++) {
        position->children[i] = at;
        at += below / position->nchildren + (i < below % position->nchildren);
    }
}

int tree_child_end(const struct tree_position *position, int index)
{
    return index + 1 < position->nchildren ? position->children[index + 1] : position->end;
}

void tree_position(struct tree_position *position, int rank, int size)
{
    position->parent = -1;
    topology_cut(position, 0, size);
    for (int root = 0; root != rank;) {
        int i = 0;
        while (tree_child_end(position, i) <= rank)
            i++;
        int child = position->children[i];
        position->parent = root;
        topology_cut(position, child, tree_child_end(position, i));
        root = child;
    }
}

static int topology_add(int *list, int count, int rank)
{
    int at = count;
    for (int i = 0; i < count; i++)
        if (list[i] == rank)
            return count;
    for (; at > 0 && list[at - 1] > rank; at--)
        list[at] = list[at - 1];
    list[at] = rank;
    return count + 1;
}

int neighbours(int ranks[NEIGHBOURS_MAX], int rank, int size)
{
    int count = 0;
    struct tree_position tree;
    if (size < 2)
        return 0;
    for (int other = 0; size <= TOPOLOGY_MESH_MAX && other < size; other++)
        if (other != rank)
            count = topology_add(ranks, count, other);
    tree_position(&tree, rank, size);
    count = topology_add(ranks, count, ring_left(rank, size));
    count = topology_add(ranks, count, ring_right(rank, size));
    if (tree.parent >= 0)
        count = topology_add(ranks, count, tree.parent);
    for (int i = 0; i < tree.nchildren; i++)
        count = topology_add(ranks, count, tree.children[i]);
    return count;
}
