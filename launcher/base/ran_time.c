/* SPDX-License-Identifier: Apache-2.0 */
/* Time in which this process ran; see ran_time.h. */
#include "launcher/base/ran_time.h"

uint64_t ran_time_check(uint64_t *checked_ms, uint64_t every_ms, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - *checked_ms;
    *checked_ms = now_ms;
    return passed_ms > every_ms + RAN_TIME_LATE_MS ? every_ms : passed_ms;
}

uint64_t ran_time_since(uint64_t checked_ms, uint64_t every_ms, uint64_t now_ms)
{
    uint64_t passed_ms = now_ms - checked_ms;
    return passed_ms > every_ms ? every_ms : passed_ms;
}
