/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of a binomial tree; see tree_schedule.h. */
#include "lib/collective/tree_schedule.h"

#include "lib/collective/ring_schedule.h"

static int rank_at(int distance, int size, int root)
{
    return (root + distance) % size;
}

int tree_parent(int rank, int size, int root)
{
    int distance = broadcast_distance(rank, size, root);
    return distance == 0 ? -1 : rank_at(distance & (distance - 1), size, root);
}

int tree_children(int rank, int size, int root, int children[TREE_CHILDREN_MOST])
{
    int distance = broadcast_distance(rank, size, root), count = 0;
    int end = distance == 0 ? size : distance & -distance; /* of the range below */
    int step = 1;
    while (step < end && step <= (size - 1) / 2)
        step *= 2;
    for (; step > 0; step /= 2)
        if (step < end && distance + step < size)
            children[count++] = rank_at(distance + step, size, root);
    return count;
}

int tree_peers(int rank, int size, int root, int *peers)
{
    int children[TREE_CHILDREN_MOST], count = 0, parent = tree_parent(rank, size, root);
    if (parent >= 0)
        peers[count++] = parent;
    int nchildren = tree_children(rank, size, root, children);
    for (int i = 0; i < nchildren; i++)
        peers[count++] = children[i];
    return count;
}
