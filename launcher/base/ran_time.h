/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which this process ran, for limits that must not pass while it is stopped by Ctrl-Z, or
 * while its machine is frozen. Counted by a check that is repeated: one that comes too late counts
 * as one interval. */
#ifndef LAUNCHER_BASE_RAN_TIME_H
#define LAUNCHER_BASE_RAN_TIME_H

#include <stdint.h>

/* The delay from which on a check is too late. */
enum { RAN_TIME_LATE_MS = 500 };

/* Call this every `every_ms`: the time that counts since the last check, which was at `*checked_ms`
 * and is at `now_ms` from now on. */
uint64_t ran_time_check(uint64_t *checked_ms, uint64_t every_ms, uint64_t now_ms);

/* Between two checks: the time that counts since the last one. No more than the next check will
 * count. */
uint64_t ran_time_since(uint64_t checked_ms, uint64_t every_ms, uint64_t now_ms);

#endif
