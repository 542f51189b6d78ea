/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an Adasum; see adasum_schedule.h. */
#include "lib/collective/adasum_schedule.h"

int adasum_levels(int size)
{
    int levels = 0;
    while (size >> (levels + 1) > 0)
        levels++;
    return levels;
}

int adasum_core_size(int size)
{
    return 1 << adasum_levels(size);
}

bool adasum_is_extra(int rank, int size)
{
    return rank >= adasum_core_size(size);
}

bool adasum_is_low(int rank, int level)
{
    return (rank >> level & 1) == 0;
}

static bool has_extra(int rank, int size)
{
    return rank + adasum_core_size(size) < size;
}

static struct adasum_step after_levels(int level, int rank, int size)
{
    if (level >= 0)
        return (struct adasum_step){ ADASUM_SPREAD, level, 0 };
    return (struct adasum_step){ has_extra(rank, size) ? ADASUM_UNFOLD : ADASUM_DONE, 0, 0 };
}

static struct adasum_step begin_level(int level, int rank, int size)
{
    int levels = adasum_levels(size);
    if (level < levels)
        return (struct adasum_step){ ADASUM_HALVE, level, 0 };
    return after_levels(levels - 1, rank, size);
}

struct adasum_step adasum_first_step(int rank, int size)
{
    if (adasum_is_extra(rank, size) || has_extra(rank, size))
        return (struct adasum_step){ ADASUM_FOLD, 0, 0 };
    return begin_level(0, rank, size);
}

struct adasum_step adasum_next_step(struct adasum_step step, int rank, int size)
{
    switch (step.phase) {
    case ADASUM_FOLD:
        if (adasum_is_extra(rank, size))
            return (struct adasum_step){ ADASUM_UNFOLD, 0, 0 };
        return begin_level(0, rank, size);
    case ADASUM_HALVE:
        return (struct adasum_step){ ADASUM_SUM, step.level, 0 };
    case ADASUM_SUM:
        if (step.round < step.level)
            return (struct adasum_step){ ADASUM_SUM, step.level, step.round + 1 };
        return begin_level(step.level + 1, rank, size);
    case ADASUM_SPREAD:
        return after_levels(step.level - 1, rank, size);
    default:
        return (struct adasum_step){ ADASUM_DONE, 0, 0 };
    }
}

int adasum_peer(struct adasum_step step, int rank, int size)
{
    int core = adasum_core_size(size);
    switch (step.phase) {
    case ADASUM_FOLD:
    case ADASUM_UNFOLD:
        return rank < core ? rank + core : rank - core;
    case ADASUM_HALVE:
    case ADASUM_SPREAD:
        return rank ^ 1 << step.level;
    case ADASUM_SUM:
        return rank ^ 1 << step.round;
    default:
        return -1;
    }
}

/* A rank adds up its sums with the ranks that it has exchanged halves with. */
int adasum_peers(int rank, int size, int *peers)
{
    int count = 0;
    struct adasum_step step = adasum_first_step(rank, size);
    for (; step.phase != ADASUM_DONE; step = adasum_next_step(step, rank, size))
        if (step.phase == ADASUM_FOLD || step.phase == ADASUM_HALVE)
            peers[count++] = adasum_peer(step, rank, size);
    return count;
}

struct adasum_step adasum_step_with(struct adasum_step step, int peer, int rank, int size)
{
    while (step.phase != ADASUM_DONE && adasum_peer(step, rank, size) != peer)
        step = adasum_next_step(step, rank, size);
    return step;
}

bool adasum_same_step(struct adasum_step x, struct adasum_step y)
{
    return x.phase == y.phase && x.level == y.level && x.round == y.round;
}

/* The low half has the odd element. */
struct adasum_piece adasum_piece(size_t count, int rank, int levels)
{
    struct adasum_piece piece = { 0, count };
    for (int level = 0; level < levels; level++) {
        size_t low = piece.count - piece.count / 2;
        if (adasum_is_low(rank, level)) {
            piece.count = low;
        } else {
            piece.start += low;
            piece.count -= low;
        }
    }
    return piece;
}
