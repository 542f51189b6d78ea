/* SPDX-License-Identifier: Apache-2.0 */
/* Workers by state; see rank_states.h. */
#include "rendezvous/world/rank_states.h"

#include "rendezvous/world/rendezvous_job.h"

static const char *const names[RANK_STATES] = { "expected", "gloo", "waiting",
                                                "running",  "left", "lost" };

const char *rank_state_name(enum rank_state state)
{
    return names[state];
}

enum rank_state rank_state_of(const struct rendezvous_job *job, int rank)
{
    const struct membership *membership = &job->membership;
    switch (membership->members[rank].state) {
    case MEMBER_EXPECTED:
        return RANK_EXPECTED;
    case MEMBER_ELSEWHERE:
        return RANK_GLOO;
    case MEMBER_JOINED:
        return membership_was_complete(membership) ? RANK_RUNNING : RANK_WAITING;
    case MEMBER_LEFT:
        return RANK_LEFT;
    default:
        return RANK_LOST;
    }
}

int rank_states_size(const struct rendezvous_job *job)
{
    return job->size ? job->size : job->pending.size;
}

static void count_pending_workers(const struct rendezvous_job *job, int counts[RANK_STATES])
{
    bool open = rendezvous_job_state(job) == RENDEZVOUS_JOB_GATHERING;
    int size = rank_states_size(job), count = job->pending.count;
    counts[open ? RANK_WAITING : RANK_LEFT] += count;
    if (size > count)
        counts[RANK_EXPECTED] += size - count;
}

void rank_states_count(const struct rendezvous_job *job, int counts[RANK_STATES])
{
    if (!job->ranks)
        count_pending_workers(job, counts);
    else
        for (int rank = 0; rank < job->size; rank++)
            counts[rank_state_of(job, rank)]++;
}
