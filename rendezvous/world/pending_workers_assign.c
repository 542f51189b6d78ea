/* SPDX-License-Identifier: Apache-2.0 */
/* Assigns ranks when all workers have come; see pending_workers.h: first the ranks that workers
 * have asked for, then the free ranks to the other workers, by host and arrival. */
#include "rendezvous/world/pending_workers.h"

#include "rendezvous/base/host_groups.h"
#include "rendezvous/world/rank_places.h"

#include <assert.h>
#include <stdlib.h>

/* The pending workers by host, and on each host by arrival. */
static int group_by_host(struct host_groups *groups, const struct pending_workers *pending)
{
    assert(pending->size > 0);
    const char **names = calloc((size_t)pending->size, sizeof *names);
    for (int i = 0; names && i < pending->size; i++)
        names[i] = pending->workers[i].host;
    int rc = names ? host_groups_init(groups, names, pending->size) : HVD_ERR_NOMEM;
    free(names);
    return rc;
}

static void assign_rank(struct pending_workers *pending, struct rendezvous_slot *slots, int worker,
                        int rank)
{
    pending->workers[worker].rank = rank;
    slots[rank].host = pending->workers[worker].host;
}

static void choose_ranks(struct pending_workers *pending, struct rendezvous_slot *slots,
                         const int *order)
{
    for (int i = 0; i < pending->size; i++)
        if (pending->workers[i].wanted >= 0)
            assign_rank(pending, slots, i, pending->workers[i].wanted);
    for (int i = 0, rank = 0; i < pending->size; i++) {
        if (pending->workers[order[i]].wanted >= 0)
            continue;
        while (slots[rank].host)
            rank++;
        assign_rank(pending, slots, order[i], rank);
    }
}

int pending_workers_assign(struct pending_workers *pending, struct rendezvous_slot *slots,
                           struct err *err)
{
    struct host_groups groups;
    assert(pending->state == PENDING_WORKERS_FULL);
    for (int rank = 0; rank < pending->size; rank++)
        slots[rank].host = NULL;
    int rc = group_by_host(&groups, pending);
    if (rc == HVD_OK) {
        choose_ranks(pending, slots, groups.order);
        rc = rank_places_fill(slots, pending->size);
        host_groups_fini(&groups);
    }
    return rc < 0 ? fail(err, rc, "out of memory for the places of job %s", pending->job) : rc;
}
