/* SPDX-License-Identifier: Apache-2.0 */
/* See dice.h. */
#include "tests/simulator/dice.h"

static uint64_t state, apart;

static uint64_t next_of(uint64_t *row)
{
    *row ^= *row >> 12;
    *row ^= *row << 25;
    *row ^= *row >> 27;
    return *row * 2685821657736338717u;
}

static uint64_t next(void)
{
    return next_of(&state);
}

void sim_dice_seed(uint64_t seed)
{
    state = (seed + 1) * 0x9E3779B97F4A7C15u;
    state ^= state >> 31;
    state |= state == 0;
    for (int i = 0; i < 4; i++)
        next();
    apart = ~state | 1;
}

uint32_t sim_dice(uint32_t bound)
{
    return bound ? (uint32_t)((next() >> 32) * bound >> 32) : 0;
}

uint32_t sim_dice_apart(uint32_t bound)
{
    return bound ? (uint32_t)((next_of(&apart) >> 32) * bound >> 32) : 0;
}

uint64_t sim_between(uint64_t least, uint64_t most)
{
    return least + next() % (most - least + 1);
}

bool sim_once_in(uint32_t n)
{
    return sim_dice(n) == 0;
}
