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

/* As sim_dice(), from a row of numbers of its own: whoever asks does not change what else the seed
 * draws. */
uint32_t sim_dice_apart(uint32_t bound);

/* True once in `n`. */
bool sim_once_in(uint32_t n);

#endif
