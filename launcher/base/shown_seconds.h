/* SPDX-License-Identifier: Apache-2.0 */
/* A time as a person reads it: three digits, or all of its seconds. */
#ifndef LAUNCHER_BASE_SHOWN_SECONDS_H
#define LAUNCHER_BASE_SHOWN_SECONDS_H

#include <stdint.h>

/* For "%g", which keeps all seconds up to eleven days; "%.3g" makes 1e+03 of 1000. */
static inline double shown_seconds(uint64_t ms)
{
    uint64_t unit_ms = ms < 10000 ? 10 : ms < 100000 ? 100 : 1000;
    return (double)((ms + unit_ms / 2) / unit_ms * unit_ms) / 1000;
}

#endif
