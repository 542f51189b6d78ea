/* SPDX-License-Identifier: Apache-2.0 */
/* The monotonic clock for deadlines and ages. Setting the wall clock does not change this clock. */
#ifndef LIB_BASE_CLOCK_H
#define LIB_BASE_CLOCK_H

#include <stdint.h>

uint64_t monotonic_ms(void);
uint64_t monotonic_ns(void);

/* The time of the last timer tick, some milliseconds ago at most, for times that are only stored:
 * reading it costs a fifth of monotonic_ns(). */
uint64_t monotonic_tick_ns(void);

/* The earlier of two times; UINT64_MAX is never. */
static inline uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

#endif
