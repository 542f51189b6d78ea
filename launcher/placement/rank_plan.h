/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank runs where. Pure arithmetic.
 *
 * By slot, hosts are filled in their order, each up to its slots, until `np` ranks are placed: the
 * ranks of one host are consecutive. By node, each host in its turn gets one rank more, as long as
 * it has a slot. Either way a host that gets none is left out of the plan, and hosts keep their
 * order. Within the plan
 *     local_rank   counts the ranks of one host,
 *     cross_rank   counts the hosts before this one that have a rank with the same local_rank,
 *     cross_size   counts all hosts that have one. */
#ifndef LAUNCHER_PLACEMENT_RANK_PLAN_H
#define LAUNCHER_PLACEMENT_RANK_PLAN_H

#include "launcher/hosts/host_list.h"
#include "lib/base/rank_info.h"
#include "lib/base/status.h"

#include <stdbool.h>

/* In the order of the words. */
enum rank_order { RANKS_BY_SLOT, RANKS_BY_NODE };
#define RANK_ORDER_CHOICES "slot node"

/* A rank: its rank info and its host. */
struct rank_slot {
    struct rank_info rank_info;
    int host; /* index into the plan's hosts */
};

/* A host with at least one rank. */
struct rank_host {
    const struct host_slots *host; /* borrowed from the host list, which outlives the plan */
    const int *ranks;              /* by local_rank, ascending; owned by the plan */
    int local_size;
};

struct rank_plan {
    struct rank_slot *ranks; /* owned; ranks[r].rank_info.rank == r */
    int size;
    int *by_host;            /* owned; the ranks again, those of the first host first */
    struct rank_host *hosts; /* owned; rank 0 is on the first */
    int host_count;
    bool homogeneous; /* every host of the plan has the same number of ranks */
};

/* Places `np` ranks; 0: one in every slot. Returns HVD_OK; or HVD_ERR_INVALID when np is not
 * 0..WORLD_SIZE_MAX or larger than the slots (rank_plan_too_few_slots()), and the plan is empty. */
int rank_plan_make(struct rank_plan *plan, const struct host_list *hosts, int np,
                   enum rank_order order, struct err *err);

/* Fails with HVD_ERR_INVALID and what to write: "-np: 3 ranks asked for, but -H has 2 slots on 1
 * host (localhost:2); write localhost:3". `option` is the one that gave `np`. */
int rank_plan_too_few_slots(const struct host_list *hosts, const char *option, int np,
                            struct err *err);

/* The plan as a table for people: a header line and a line per rank, columns rank, host,
 * local_rank, local_size, cross_rank, cross_size. The caller frees it. */
char *rank_plan_table(const struct rank_plan *plan);

void rank_plan_fini(struct rank_plan *plan);

#endif
