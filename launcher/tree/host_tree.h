/* SPDX-License-Identifier: Apache-2.0 */
/* Which agent starts which: hvdrun is the root, and each agent starts at most `width` others. Pure.
 *
 *   hvdrun -> 0 1 2    0 -> 3 4 5    1 -> 6 7 8    2 -> 9 ...       (width 3)
 *
 * Hosts take their places in the order of the job's plan, level by level, so a parent comes before
 * its children. Some hosts are direct: hvdrun starts them itself, and they start nobody. */
#ifndef LAUNCHER_TREE_HOST_TREE_H
#define LAUNCHER_TREE_HOST_TREE_H

#include <stdbool.h>

/* The number of hosts from which on agents start agents, and the default of --tree-width there, as
 * --help prints them; bench/README.md has the measurements. */
#define HOST_TREE_FROM_TEXT "64"
#define HOST_TREE_WIDTH_DEFAULT "32"
enum { HOST_TREE_FROM = 64, HOST_TREE_WIDTH = 32 };

/* Bounds of --tree-width, besides 0, which is no tree. A width of 1 would be a chain. */
enum { HOST_TREE_WIDTH_MIN = 2, HOST_TREE_WIDTH_MAX = 1024 };

/* The root, as a parent. */
enum { HOST_TREE_ROOT = -1 };

struct host_tree {
    int *parents; /* by host: a host, or HOST_TREE_ROOT */
    int *places;  /* by host: its place, or -1 if it is direct */
    int *hosts;   /* by place */
    int nhosts, nplaces;
    int width;
};

/* The place above `place`, or HOST_TREE_ROOT. */
int host_tree_parent_place(int place, int width);

/* `width` 0: every host is direct. `is_direct` has a member per host, or is NULL. */
void host_tree_init(struct host_tree *tree, int nhosts, int width, const bool *is_direct);
void host_tree_fini(struct host_tree *tree);

/* The hosts that the agent of `host`, or hvdrun for HOST_TREE_ROOT, starts, without the direct
 * ones: in `*children`, borrowed. Returns their number. */
int host_tree_children(const struct host_tree *tree, int host, const int **children);

/* How a frame for all hosts gets to one of them: hvdrun sends it for the host alone, or for the
 * host and all below it (MULTICAST of launcher/protocol/agent_protocol.h), or the host gets that of
 * a host above. */
enum host_cast { CAST_TO_HOST, CAST_TO_SUBTREE, CAST_BY_PARENT };

/* Decides this for each host, in `casts`, so that hvdrun sends as few frames as reach every host.
 * `hears`, by host: may the host get the frame from the agent above it? Of no meaning for a host
 * that hvdrun starts. */
void host_tree_casts(const struct host_tree *tree, const bool *hears, enum host_cast *casts);

/* Links between hvdrun and the agent of the host: 1 if hvdrun starts it. */
int host_tree_depth(const struct host_tree *tree, int host);

#endif
