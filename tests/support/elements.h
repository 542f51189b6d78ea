/* SPDX-License-Identifier: Apache-2.0 */
/* One element of any type, as a number; and random numbers that repeat. */
#ifndef TESTS_SUPPORT_ELEMENTS_H
#define TESTS_SUPPORT_ELEMENTS_H

#include "lib/hvd.h"

#include <stddef.h>
#include <stdint.h>

/* Element `i` of `data`. Halves and floats are rounded; integers must fit. Data need not be
 * aligned. */
void element_put(enum hvd_dtype dtype, void *data, size_t i, double value);
double element_get(enum hvd_dtype dtype, const void *data, size_t i);

/* The relative error of rounding to a floating-point type: half a unit in the last place. */
double element_rounding(enum hvd_dtype dtype);

/* The next of a sequence that begins with any seed but 0. */
uint64_t next_random(uint64_t *state);

/* From 0 to below `limit`, which is not 0. */
size_t random_less_than(uint64_t *state, size_t limit);

/* From -1 to below 1. */
double random_number(uint64_t *state);

#endif
