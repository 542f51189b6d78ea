/* SPDX-License-Identifier: Apache-2.0 */
/* What the clock of another machine says on ours, by what it said between a question and its
 * answer, and by how much that may be wrong. The answer that took least time on its way tells best
 * how the clocks differ, but less and less: clocks drift apart. One that stood still, as that of a
 * machine which was suspended, turns out when the next answer cannot be true. Decides only; times
 * are in microseconds, theirs below 2^62. */
#ifndef LAUNCHER_PROTOCOL_CLOCK_OFFSET_H
#define LAUNCHER_PROTOCOL_CLOCK_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

/* All zero is one of which nothing is known. */
struct clock_offset {
    bool known;
    int64_t ahead_us;  /* ours, less theirs */
    uint64_t slack_us; /* by how much that was wrong at most */
    uint64_t taken_us; /* then */
};

/* Asked at sent_us it said their_us, and at now_us >= sent_us the answer was here. */
void clock_offset_compare(struct clock_offset *clock, uint64_t sent_us, uint64_t their_us,
                          uint64_t now_us);

/* When their_us was on our clock: never later than now_us, which it is when nothing is known.
 * Returns by how much that may be wrong. */
uint64_t clock_offset_time(const struct clock_offset *clock, uint64_t their_us, uint64_t now_us,
                           uint64_t *at_us);

#endif
