/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines in milliseconds of any clock; UINT64_MAX is never. */
#ifndef RENDEZVOUS_BASE_DEADLINE_H
#define RENDEZVOUS_BASE_DEADLINE_H

#include <stdint.h>

static inline uint64_t deadline_earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* `delay_ms` after `now_ms`; never, if that is too late for a number. */
static inline uint64_t deadline_after(uint64_t now_ms, uint64_t delay_ms)
{
    return delay_ms < UINT64_MAX - now_ms ? now_ms + delay_ms : UINT64_MAX;
}

#endif
