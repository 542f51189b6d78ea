/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that autotuning changes, and the cube in which it searches. Each number that may vary
 * has an axis from 0 to 1, along which the number grows as its table says. Pure arithmetic. */
#ifndef LIB_AUTOTUNE_TUNING_H
#define LIB_AUTOTUNE_TUNING_H

#include <stdint.h>

/* All numbers are in bytes, except the time. */
struct tuning {
    uint64_t fusion_threshold; /* the most bytes that are fused */
    uint64_t fused_max;        /* the largest tensor that is fused */
    uint64_t cycle_time_us;
    uint64_t small, large; /* struct algorithm_thresholds */
};

/* A bit for each number that may vary. */
enum {
    TUNE_FUSION_THRESHOLD = 1 << 0,
    TUNE_FUSED_MAX = 1 << 1,
    TUNE_CYCLE_TIME = 1 << 2,
    TUNE_SMALL = 1 << 3,
    TUNE_LARGE = 1 << 4,
    TUNE_ALL = (1 << 5) - 1
};

enum { TUNING_DIMENSIONS = 5 };

/* How many may vary. */
int tuning_dimensions(unsigned varying);

/* The point of a tuning; a number outside of its axis is at the end of the axis. */
void tuning_point(double *point, const struct tuning *tuning, unsigned varying);

/* The tuning at a point; numbers that may not vary are those of `fixed`. */
struct tuning tuning_at(const double *point, const struct tuning *fixed, unsigned varying);

#endif
