/* SPDX-License-Identifier: Apache-2.0 */
/* Who waits for whom; see stalls.h. */
#include "rendezvous/world/stalls.h"

#include "rendezvous/world/rank_states.h"
#include "rendezvous/world/rendezvous_job.h"

void stalls_init(struct stalls *stalls, const struct meeting *meeting)
{
    *stalls = (struct stalls){ .meeting = meeting };
}

/* What a rank says that it has submitted; false if that is not known now. */
static bool has_answered(const struct meeting *meeting, int rank, struct rank_waits *waits)
{
    const struct meeting_rank *at = &meeting->ranks[rank];
    return !at->silent && at->heard_ms >= meeting->asked_ms &&
           meeting_rank_waits(meeting, rank, waits);
}

/* Members of the process set that have not submitted the tensor, or that have not answered. */
static void find_ranks(const struct meeting *meeting, const struct rank_waits *waits,
                       bool unanswered, struct stall_found *found)
{
    for (int i = 0; i < waits->nmembers; i++) {
        for (int rank = (int)waits->members[i].first;
             rank < (int)waits->members[i].end && rank < meeting->size; rank++) {
            struct rank_waits other;
            bool knows = has_answered(meeting, rank, &other);
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

static const struct stall_found *look_up(struct stalls *stalls, const struct rank_waits *waits)
{
    for (int i = 0; i < stalls->count; i++)
        if (stalls->found[i].key == waits->keys[0] && stalls->found[i].moves == waits->moves)
            return &stalls->found[i];
    if (stalls->count == STALLED_TENSORS)
        return NULL;
    struct stall_found *found = &stalls->found[stalls->count++];
    *found = (struct stall_found){ .key = waits->keys[0], .moves = waits->moves };
    if (!waits->moves)
        find_ranks(stalls->meeting, waits, false, found);
    if (found->count == 0 && !roll_call_is_open(&stalls->meeting->roll_call))
        find_ranks(stalls->meeting, waits, true, found);
    return found;
}

const struct stall_found *stalls_find(struct stalls *stalls, int rank, struct rank_waits *waits)
{
    if (rank_state_of(stalls->meeting, rank) != RANK_RUNNING ||
        !has_answered(stalls->meeting, rank, waits) || waits->count == 0 ||
        waits->age_ms < STALLED_AFTER_MS)
        return NULL;
    const struct stall_found *found = look_up(stalls, waits);
    return found && found->count > 0 ? found : NULL;
}
