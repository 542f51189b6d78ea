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

enum rank_state rank_state_of(const struct meeting *meeting, int rank)
{
    const char *name = meeting_rank_state(meeting, rank);
    enum rank_state state = RANK_EXPECTED;
    while (state < RANK_LOST && strcmp(name, names[state]) != 0)
        state++;
    return state;
}

int rank_states_size(const struct meeting *meeting)
{
    return meeting->size ? meeting->size : meeting->lobby.size;
}

static void count_lobby(const struct meeting *meeting, int counts[RANK_STATES])
{
    bool open = meeting_state(meeting) == MEETING_GATHERING;
    int size = rank_states_size(meeting), count = meeting->lobby.count;
    counts[open ? RANK_WAITING : RANK_LEFT] += count;
    if (size > count)
        counts[RANK_EXPECTED] += size - count;
}

void rank_states_count(const struct meeting *meeting, int counts[RANK_STATES])
{
    if (!meeting->ranks)
        count_lobby(meeting, counts);
    else
        for (int rank = 0; rank < meeting->size; rank++)
            counts[rank_state_of(meeting, rank)]++;
}
