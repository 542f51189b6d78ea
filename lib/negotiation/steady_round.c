/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a schedule on one rank; see steady_round.h. */
#include "lib/negotiation/steady_round.h"

#include <string.h>

void steady_round_forget(struct steady_round *round)
{
    round->held = 0;
    for (int i = 0; i < round->schedule.count; i++)
        round->missing[i] = round->schedule.operations[i].count;
    memset(round->owners, 0, sizeof round->owners);
}

void steady_round_begin(struct steady_round *round, const struct schedule *schedule)
{
    round->schedule = *schedule;
    steady_round_forget(round);
}

static int steady_round_index(const struct steady_round *round, uint32_t number)
{
    return (int)(number % (uint32_t)round->schedule.count);
}

/* The operation of a place. */
static int steady_round_operation_of(const struct steady_round *round, int place)
{
    int index = 0;
    while (round->schedule.operations[index].first + round->schedule.operations[index].count <=
           place)
        index++;
    return index;
}

int steady_round_find(const struct steady_round *round, int slot, uint32_t committed)
{
    const struct schedule *schedule = &round->schedule;
    int begin = steady_round_operation(round, committed)->first, found = -1;
    for (int i = 0; i < schedule->ntensors; i++) {
        int place = begin + i < schedule->ntensors ? begin + i : begin + i - schedule->ntensors;
        if (schedule->slots[place] != slot)
            continue;
        if (round->owners[place])
            return -1;
        if (found < 0)
            found = place;
    }
    return found;
}

void steady_round_put(struct steady_round *round, int place, void *owner)
{
    round->owners[place] = owner;
    round->missing[steady_round_operation_of(round, place)]--;
    round->held++;
}

bool steady_round_is_complete(const struct steady_round *round, uint32_t number, uint32_t done)
{
    return number - done < (uint32_t)round->schedule.count &&
           round->missing[steady_round_index(round, number)] == 0;
}

void steady_round_commit(struct steady_round *round, uint32_t number)
{
    round->held -= steady_round_operation(round, number)->count;
}

void steady_round_done(struct steady_round *round, uint32_t number)
{
    const struct schedule_operation *operation = steady_round_operation(round, number);
    round->missing[steady_round_index(round, number)] = operation->count;
    for (int i = 0; i < operation->count; i++)
        round->owners[operation->first + i] = NULL;
}

uint64_t steady_round_tensors(const struct steady_round *round, uint32_t done)
{
    const struct schedule *schedule = &round->schedule;
    uint64_t rounds = done / (uint32_t)schedule->count;
    return rounds * (uint64_t)schedule->ntensors +
           (uint64_t)steady_round_operation(round, done)->first;
}

void *steady_round_take(struct steady_round *round)
{
    for (int place = 0; place < round->schedule.ntensors; place++) {
        void *owner = round->owners[place];
        round->owners[place] = NULL;
        if (owner)
            return owner;
    }
    return NULL;
}

void *steady_round_next(const struct steady_round *round, struct steady_cursor *cursor,
                        uint32_t done, uint32_t *number)
{
    const struct schedule *schedule = &round->schedule;
    const struct schedule_operation *operation = &schedule->operations[cursor->operation];
    for (; cursor->place < schedule->ntensors; cursor->place++) {
        while (cursor->place >= operation->first + operation->count)
            operation = &schedule->operations[++cursor->operation];
        if (!round->owners[cursor->place])
            continue;
        int ahead = cursor->operation - steady_round_index(round, done);
        *number = done + (uint32_t)(ahead < 0 ? ahead + schedule->count : ahead);
        return round->owners[cursor->place++];
    }
    return NULL;
}
