/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks are stalled, and for whom they wait, as far as the ranks themselves have said what
 * they have submitted (lib/base/rank_waits.h). Decisions only.
 *
 * A rank is stalled when the tensor for which it has waited longest has been in flight for
 * STALLED_AFTER_MS and others of its process set have not submitted it. These are the ranks that it
 * waits for. When all that have answered have submitted it, it waits for those that have not
 * answered in time when they were asked last: a rank that was stopped with SIGSTOP, or one that
 * cannot tell because it has more in flight than it may list. */
#ifndef RENDEZVOUS_WORLD_STALLS_H
#define RENDEZVOUS_WORLD_STALLS_H

#include "lib/base/rank_waits.h"

#include <stdbool.h>
#include <stdint.h>

struct rendezvous_job;

/* STALLED_TENSORS: different tensors that are looked at in a job; the time that it takes is so many
 * times the number of ranks. */
enum { STALLED_AFTER_MS = 3000, STALLED_RANKS_MAX = 16, STALLED_TENSORS = 16 };

struct stall_found {
    uint64_t key;                 /* of the tensor */
    bool moves;                   /* its data is on the way */
    int count;                    /* ranks that are waited for */
    int ranks[STALLED_RANKS_MAX]; /* the first of them, ascending */
};

struct stalls {
    const struct rendezvous_job *job; /* borrowed; unchanged as long as this is used */
    int count;
    struct stall_found found[STALLED_TENSORS];
};

void stalls_init(struct stalls *stalls, const struct rendezvous_job *job);

/* NULL if `rank` is not stalled, as far as that is known; else for whom it waits, and `waits` has
 * the tensor and its age. */
const struct stall_found *stalls_find(struct stalls *stalls, int rank, struct rank_waits *waits);

#endif
