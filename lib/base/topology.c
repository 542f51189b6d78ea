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

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* The length of the run of equal numbers that begins at `first`. */
static int run_length(const int *hosts, int first, int size)
{
    int end = first + 1;
    while (end < size && hosts[end] == hosts[first])
        end++;
    return end - first;
}

int tree_star(const int *hosts, int size)
{
    int star = run_length(hosts, 0, size);
    for (int first = star; first < size; first += star)
        if (run_length(hosts, first, size) != star || hosts[first] < hosts[first - 1])
            return 1;
    return star;
}

/* Adds up to `most` children for the ranks [begin, end), cut into parts that begin at a multiple of
 * `star` ranks from `begin` and have as many of these as possible in common. The first rank of a
 * part is a child. */
static void topology_cut(struct tree_position *position, int begin, int end, int star, int most)
{
    int units = (end - begin + star - 1) / star, parts = least(units, most);
    for (int i = 0, at = begin; i < parts; i++) {
        position->children[position->nchildren++] = at;
        at += star * (units / parts + (i < units % parts));
    }
}

/* How many of `below` ranks of its star are children of a rank that may have `most`. If not all can
 * be, two levels are needed anyway, and each rank looks for less if both are equally wide. */
static int star_width(int below, int most)
{
    int width = 1;
    if (below <= most)
        return below;
    while (width < most && width * (width + 1) < below)
        width++;
    return width;
}

/* The children of the first rank of [rank, end): ranks of its own star, then leaders of others. */
static void topology_branch(struct tree_position *position, int rank, int end, int star)
{
    int star_end = least(rank - rank % star + star, end);
    int nstars = (end - star_end + star - 1) / star, nleaders = least(nstars, TREE_BRANCHES);
    position->end = end;
    position->nchildren = 0;
    int width = star_width(star_end - rank - 1, TREE_CHILDREN_MAX - nleaders);
    topology_cut(position, rank + 1, star_end, 1, width);
    topology_cut(position, star_end, end, star, TREE_BRANCHES);
}

int tree_child_end(const struct tree_position *position, int index)
{
    return index + 1 < position->nchildren ? position->children[index + 1] : position->end;
}

void tree_position(struct tree_position *position, int rank, int size, int star)
{
    if (star < 1 || size <= TOPOLOGY_MESH_MAX)
        star = 1;
    position->parent = -1;
    topology_branch(position, 0, size, star);
    for (int root = 0; root != rank;) {
        int i = 0;
        while (tree_child_end(position, i) <= rank)
            i++;
        int child = position->children[i];
        position->parent = root;
        topology_branch(position, child, tree_child_end(position, i), star);
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

int neighbours(int ranks[NEIGHBOURS_MAX], int rank, int size, int star)
{
    int count = 0;
    struct tree_position tree;
    if (size < 2)
        return 0;
    for (int other = 0; size <= TOPOLOGY_MESH_MAX && other < size; other++)
        if (other != rank)
            count = topology_add(ranks, count, other);
    tree_position(&tree, rank, size, star);
    count = topology_add(ranks, count, ring_left(rank, size));
    count = topology_add(ranks, count, ring_right(rank, size));
    if (tree.parent >= 0)
        count = topology_add(ranks, count, tree.parent);
    for (int i = 0; i < tree.nchildren; i++)
        count = topology_add(ranks, count, tree.children[i]);
    return count;
}
