/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers from the seed of a job (xorshift64*), the same on every machine. */
#ifndef TESTS_SIMULATOR_DICE_H
#define TESTS_SIMULATOR_DICE_H

#include <stdbool.h>
#include <stdint.h>

void sim_dice_seed(uint64_t seed);

/* 0 to bound - 1; 0 for bound 0. */
uint32_t sim_dice(uint32_t bound);

/* From `least` to `most`. */
uint64_t sim_between(uint64_t least, uint64_t most);

/* True once in `n`. */
bool sim_once_in(uint32_t n);

#endif
