/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of agents as arithmetic; see host_tree.h. Nothing fails. */
#include "launcher/tree/host_tree.h"

#include "launcher/base/xalloc.h"

#include <stdlib.h>

int host_tree_parent_place(int place, int width)
{
    return place / width - 1;
}

/* The first place below `place`, which may be HOST_TREE_ROOT. */
static int host_tree_first_child_place(int place, int width)
{
    return (place + 1) * width;
}

void host_tree_init(struct host_tree *tree, int nhosts, int width, const bool *is_direct)
{
    size_t count = (size_t)nhosts + 1;
    *tree = (struct host_tree){ .nhosts = nhosts, .width = width };
    tree->parents = xcalloc(count, sizeof *tree->parents);
    tree->places = xcalloc(count, sizeof *tree->places);
    tree->hosts = xcalloc(count, sizeof *tree->hosts);
    for (int host = 0; host < nhosts; host++) {
        bool direct = width == 0 || (is_direct && is_direct[host]);
        int above = direct ? HOST_TREE_ROOT : host_tree_parent_place(tree->nplaces, width);
        tree->parents[host] = above < 0 ? HOST_TREE_ROOT : tree->hosts[above];
        tree->places[host] = direct ? -1 : tree->nplaces;
        if (!direct)
            tree->hosts[tree->nplaces++] = host;
    }
}

void host_tree_fini(struct host_tree *tree)
{
    free(tree->parents);
    free(tree->places);
    free(tree->hosts);
    *tree = (struct host_tree){ 0 };
}

int host_tree_children(const struct host_tree *tree, int host, const int **children)
{
    bool starts_none = host != HOST_TREE_ROOT && tree->places[host] < 0;
    int place = host == HOST_TREE_ROOT ? HOST_TREE_ROOT : tree->places[host];
    int first = starts_none ? tree->nplaces : host_tree_first_child_place(place, tree->width);
    int left = tree->nplaces - first;
    if (left <= 0)
        return 0;
    *children = &tree->hosts[first];
    return left < tree->width ? left : tree->width;
}

/* Children come behind their parents. So the first loop, backwards, finds the hosts below which all
 * others hear a frame, and the second one, forwards, the hosts below those. */
void host_tree_casts(const struct host_tree *tree, const bool *hears, enum host_cast *casts)
{
    bool *severed = xcalloc((size_t)tree->nhosts + 1, sizeof *severed);
    for (int host = tree->nhosts - 1; host >= 0; host--) {
        const int *children;
        int above = tree->parents[host];
        bool all_hear = host_tree_children(tree, host, &children) > 0 && !severed[host];
        casts[host] = all_hear ? CAST_TO_SUBTREE : CAST_TO_HOST;
        if (above != HOST_TREE_ROOT && (severed[host] || !hears[host]))
            severed[above] = true;
    }
    for (int host = 0; host < tree->nhosts; host++)
        if (tree->parents[host] != HOST_TREE_ROOT && casts[tree->parents[host]] != CAST_TO_HOST)
            casts[host] = CAST_BY_PARENT;
    free(severed);
}

int host_tree_depth(const struct host_tree *tree, int host)
{
    int depth = 0;
    for (; host != HOST_TREE_ROOT; host = tree->parents[host])
        depth++;
    return depth;
}
