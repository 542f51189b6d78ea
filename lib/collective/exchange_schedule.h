/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which operands and results go to a peer. Pure arithmetic.
 *
 * First come two pieces of the operands, then results and operands in turn, piece by piece:
 *
 *   I0 I1 R0 I2 R1 I3 R2 ...
 *
 * and then the rest of the longer of the two. So a piece of results goes out soon after it was
 * made, while it still lies in a cache, and the operands of the next pieces are on their way
 * meanwhile. */
#ifndef LIB_COLLECTIVE_EXCHANGE_SCHEDULE_H
#define LIB_COLLECTIVE_EXCHANGE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The piece that makes all operands come first, then all results. */
#define EXCHANGE_IN_SEQUENCE (SIZE_MAX / 4)

struct stretch {
    bool of_results;
    size_t start, nbytes;
};

/* What follows `at` bytes of a stream of `operands` and `results`, in one piece of memory: operands
 * or results, from byte `start` on. 0 bytes at the end. */
struct stretch exchange_stretch(size_t operands, size_t results, size_t piece, size_t at);

#endif
