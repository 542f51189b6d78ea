/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks wait for which ranks; see stalls.h. */
#include "rendezvous/world/stalls.h"

#include "rendezvous/world/rank_states.h"
#include "rendezvous/world/rendezvous_job.h"

void stalls_init(struct stalls *stalls, const struct rendezvous_job *job)
{
    *stalls = (struct stalls){ .job = job };
}

/* What a rank has submitted, by its answer to the current rank query; false if it has not
 * answered. */
static bool has_answered(const struct rendezvous_job *job, int rank, struct rank_waits *waits)
{
    const struct rendezvous_job_rank *at = &job->ranks[rank];
    return !at->silent && at->heard_ms >= job->asked_ms &&
           rendezvous_job_rank_waits(job, rank, waits);
}

/* Members of the process set that have not submitted the tensor, or that have not answered. */
static void find_ranks(const struct rendezvous_job *job, const struct rank_waits *waits,
                       bool unanswered, struct stall_found *found)
{
    for (int i = 0; i < waits->nmembers; i++) {
        for (int rank = (int)waits->members[i].first;
             rank < (int)waits->members[i].end && rank < job->size; rank++) {
            struct rank_waits other;
            bool knows = has_answered(job, rank, &other);
            bool has = knows && rank_waits_has(&other, waits->keys[0], waits->set_key);
            knows = knows && (has || !other.more);
            if (unanswered ? knows : has || !knows)
                continue;
            if (found->count < STALLED_RANKS_MAX)
                found->ranks[found->count] = rank;
            found->count++;
        }
    }
}

static const struct stall_found *stalls_look_up(struct stalls *stalls,
                                                const struct rank_waits *waits)
{
    for (int i = 0; i < stalls->count; i++)
        if (stalls->found[i].key == waits->keys[0] && stalls->found[i].moves == waits->moves)
            return &stalls->found[i];
    if (stalls->count == STALLED_TENSORS)
        return NULL;
    struct stall_found *found = &stalls->found[stalls->count++];
    *found = (struct stall_found){ .key = waits->keys[0], .moves = waits->moves };
    if (!waits->moves)
        find_ranks(stalls->job, waits, false, found);
    if (found->count == 0 && !rank_query_is_open(&stalls->job->rank_query))
        find_ranks(stalls->job, waits, true, found);
    return found;
}

const struct stall_found *stalls_find(struct stalls *stalls, int rank, struct rank_waits *waits)
{
    if (rank_state_of(stalls->job, rank) != RANK_RUNNING ||
        !has_answered(stalls->job, rank, waits) || waits->count == 0 ||
        waits->age_ms < STALLED_AFTER_MS)
        return NULL;
    const struct stall_found *found = stalls_look_up(stalls, waits);
    return found && found->count > 0 ? found : NULL;
}
