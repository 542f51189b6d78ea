/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the monotonic clock; see clock.h. */
#include "lib/base/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t monotonic_tick_ns(void)
{
    return read_clock(CLOCK_MONOTONIC_COARSE);
}

uint64_t monotonic_ms(void)
{
    return monotonic_ns() / 1000000u;
}
