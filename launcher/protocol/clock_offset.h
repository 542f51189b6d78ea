/* SPDX-License-Identifier: Apache-2.0 */
/* Converts times of another machine's clock to ours, with the possible error, from the time that
 * the machine sent in its answer to a question. The answer with the shortest round trip tells best
 * how the clocks differ, but loses value with age: clocks drift apart. A clock that stood still, as
 * in a suspended machine, is detected when the next answer contradicts the estimate. Decides only;
 * times are in microseconds, theirs at most CLOCK_MAX. */
#ifndef LAUNCHER_PROTOCOL_CLOCK_OFFSET_H
#define LAUNCHER_PROTOCOL_CLOCK_OFFSET_H

#include <stdbool.h>
#include <stdint.h>

/* The latest time that a machine may state, in any unit: sums with it do not overflow. */
#define CLOCK_MAX ((uint64_t)1 << 62)

/* All zero is a clock of which nothing is known. */
struct clock_offset {
    bool known;
    int64_t ahead_us;  /* ours, less theirs */
    uint64_t slack_us; /* the possible error of that */
    uint64_t taken_us; /* when it was measured */
};

/* The question was sent at sent_us, the answer says their_us, and it arrived at now_us >=
 * sent_us. */
void clock_offset_compare(struct clock_offset *clock, uint64_t sent_us, uint64_t their_us,
                          uint64_t now_us);

/* Converts their_us to our clock: never later than now_us, which is also the result when nothing is
 * known. Returns the possible error. */
uint64_t clock_offset_time(const struct clock_offset *clock, uint64_t their_us, uint64_t now_us,
                           uint64_t *at_us);

#endif
