/* SPDX-License-Identifier: Apache-2.0 */
/* Where a steady state (set_steady.c) pays, and up to how many bytes to one rank its data go with
 * the commitment, where the agreement would let them be moved: a table by transport, ranks and
 * kind. Cannot fail. */
#include "lib/engine/set_steady_impl.h"

enum { ALL_SHARED = 1, OVER_SOCKETS = 2 };

#define KIB ((size_t)1024)

/* The first row that matches decides; without a match there is no steady state.
 *
 * Shared memory: the commitment carries as much as the agreement. More is copied twice on its way
 * through a ring that is made for little; the rings of the data links are not.
 *
 * Two ranks over sockets: data of 4 KiB to 64 KiB take 0.55 to 0.7 of the time, because a round
 * trip is saved, 128 KiB 0.8 to 0.95: they are copied once more on the way. An allreduce needs the
 * whole vector of the other rank, twice the bytes that a reduce-scatter and an allgather need.
 *
 * More ranks over sockets: a rank sends to all others, not to the root alone. With more ranks than
 * processors the system calls of so many sockets cost more than the way to the root and back,
 * unless there are data that must go to each of them anyway: 4 ranks on 2 processors take 0.63 to
 * 0.85 of the time for pieces of 4 to 32 KiB. A broadcast has less to gain: its data go to each
 * rank whole. */
static const struct limits_row {
    int links;    /* ALL_SHARED: all of shared memory; OVER_SOCKETS: some are not */
    int size;     /* ranks at most */
    bool crowded; /* also if ranks outnumber the processors */
    struct schedule_sent sent;
} limits_rows[] = {
    { ALL_SHARED, STEADY_RANKS_MAX, true, { .is_all = false } },
    { OVER_SOCKETS,
      2,
      true,
      { .most = { [COLLECTIVE_ALLREDUCE] = 64 * KIB,
                  [COLLECTIVE_ALLGATHER] = 128 * KIB,
                  [COLLECTIVE_BROADCAST] = 128 * KIB,
                  [COLLECTIVE_ALLTOALL] = 128 * KIB,
                  [COLLECTIVE_REDUCESCATTER] = 128 * KIB } } },
    { OVER_SOCKETS,
      STEADY_RANKS_MAX,
      false,
      { .most = { [COLLECTIVE_ALLGATHER] = 32 * KIB,
                  [COLLECTIVE_BROADCAST] = 32 * KIB,
                  [COLLECTIVE_ALLTOALL] = 32 * KIB,
                  [COLLECTIVE_REDUCESCATTER] = 16 * KIB } } },
    { OVER_SOCKETS,
      STEADY_RANKS_MAX,
      true,
      { .most = { [COLLECTIVE_ALLGATHER] = 32 * KIB,
                  [COLLECTIVE_BROADCAST] = 16 * KIB,
                  [COLLECTIVE_ALLTOALL] = 32 * KIB,
                  [COLLECTIVE_REDUCESCATTER] = 16 * KIB },
        .is_all = true } },
};

static int links_of(struct process_set *set)
{
    bool all_shared = true;
    const struct tree_link *tree;
    for (int i = 0; (tree = set_tree_at(set, i)); i++)
        all_shared &= !tree->link || tree->link->type->transport == TRANSPORT_SHM;
    return all_shared ? ALL_SHARED : OVER_SOCKETS;
}

void set_steady_limit(struct process_set *set)
{
    const struct engine *engine = set->engine;
    int links = links_of(set);
    set->steady.pays = false;
    if (!engine->settings.steady || set->size < 2)
        return;
    for (size_t i = 0; i < sizeof limits_rows / sizeof *limits_rows && !set->steady.pays; i++) {
        const struct limits_row *row = &limits_rows[i];
        if (row->links != links || set->size > row->size ||
            (engine->progress.crowded && !row->crowded))
            continue;
        set->steady.pays = true;
        negotiation_send_up_to(set->negotiation, &row->sent);
    }
}
