/* SPDX-License-Identifier: Apache-2.0 */
/* Workers by state; see rank_states.h. */
#include "rendezvous/world/rank_states.h"

#include "rendezvous/world/rendezvous_job.h"

#include <string.h>

static const char *const names[RANK_STATES] = { "expected", "gloo", "waiting",
                                                "running",  "left", "lost" };

const char *rank_state_name(enum rank_state state)
{
    return names[state];
}

enum rank_state rank_state_of(const struct rendezvous_job *job, int rank)
{
    const char *name = rendezvous_job_rank_state(job, rank);
    enum rank_state state = RANK_EXPECTED;
    while (state < RANK_LOST && strcmp(name, names[state]) != 0)
        state++;
    return state;
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
