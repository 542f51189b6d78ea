/* SPDX-License-Identifier: Apache-2.0 */
/* See dice.h. */
#include "tests/simulator/dice.h"

static uint64_t state;

static uint64_t next(void)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 2685821657736338717u;
}

void sim_dice_seed(uint64_t seed)
{
    state = (seed + 1) * 0x9E3779B97F4A7C15u;
    state ^= state >> 31;
    state |= state == 0;
    for (int i = 0; i < 4; i++)
        next();
}

uint32_t sim_dice(uint32_t bound)
{
    return bound ? (uint32_t)((next() >> 32) * bound >> 32) : 0;
}

uint64_t sim_between(uint64_t least, uint64_t most)
{
    return least + next() % (most - least + 1);
}

bool sim_once_in(uint32_t n)
{
    return sim_dice(n) == 0;
}
