/* SPDX-License-Identifier: Apache-2.0 */
/* The history of the link to a host, for the report. Times are those of one clock that never is 0;
 * 0 is never. Pure. */
#ifndef LAUNCHER_VERDICT_LINK_HISTORY_H
#define LAUNCHER_VERDICT_LINK_HISTORY_H

#include <stdint.h>

/* The most silent periods that are kept; the first ones stay. */
enum { HEARTBEAT_GAPS = 16 };

struct heartbeat_gap {
    uint64_t since_ms, until_ms; /* until: 0 if nothing has come since */
};

struct link_history {
    uint64_t reached_ms, ready_ms, done_ms, lost_ms;
    uint64_t heard_ms; /* when bytes came last */
    struct heartbeat_gap gaps[HEARTBEAT_GAPS];
    int ngaps; /* number of silent periods, kept or not */
};

void link_history_reached(struct link_history *history, uint64_t now_ms);

/* Bytes have come; a gap of `worth_ms` or more before them is a silent period. */
void link_history_heard(struct link_history *history, uint64_t worth_ms, uint64_t now_ms);

/* The link is lost. Called once. */
void link_history_lost(struct link_history *history, uint64_t worth_ms, uint64_t now_ms);

#endif
