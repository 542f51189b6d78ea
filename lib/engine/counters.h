/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a rank (lib/base/rank_stats.h): finished collectives by operation, with their bytes
 * and latencies, and the time that callers wait.
 *
 * Counting costs an allreduce of 8 bytes over shared memory about 20 of 870 ns; reading the precise
 * clock twice would cost it 40 more. So times that are added up use the clock's last tick
 * (socket.h). This is right on average: a wait of a hundredth of a tick sees one tick in a hundred
 * cases. Latencies need the precise clock: the first COUNTERS_EXACT collectives that are submitted
 * within a tick are timed. Of the others one in COUNTERS_SAMPLE is timed and counts that many
 * times. A collective that takes longer than COUNTERS_LONG_NS and was not timed is counted by
 * ticks.
 *
 * All calls need the engine's lock. */
#ifndef LIB_ENGINE_COUNTERS_H
#define LIB_ENGINE_COUNTERS_H

#include "lib/base/rank_stats.h"
#include "lib/engine/in_flight.h"

#include <stdint.h>

enum { COUNTERS_EXACT = 64, COUNTERS_SAMPLE = 16, COUNTERS_LONG_NS = 10000000 };

struct counters {
    uint64_t since_ns; /* when hvd_init() was done */
    int waiting;       /* threads that are waiting now */
    uint64_t waiting_since_ns, waiting_ns;
    uint64_t tick_ns; /* of the last submission */
    unsigned in_tick; /* submissions since then */
    struct operation_stats operations[STATS_OPERATIONS];
};

/* Starts counting anew. */
void counters_start(struct counters *counters, uint64_t now_ns);

/* Counts a tensor that is submitted at the tick `tensor->since_ns`, and decides whether it is
 * timed. */
void counters_submitted(struct counters *counters, struct tensor *tensor);

/* Counts a tensor that has completed successfully at the tick `tick_ns`. */
void counters_done(struct counters *counters, const struct tensor *tensor, uint64_t tick_ns);

/* A thread begins to wait, or ends, at a tick. Time counts once, however many threads wait. */
static inline void counters_wait(struct counters *counters, uint64_t tick_ns)
{
    if (counters->waiting++ == 0)
        counters->waiting_since_ns = tick_ns;
}

static inline void counters_waited(struct counters *counters, uint64_t tick_ns)
{
    if (--counters->waiting == 0 && tick_ns > counters->waiting_since_ns)
        counters->waiting_ns += tick_ns - counters->waiting_since_ns;
}

/* Reads the counts at the tick `tick_ns`, including a wait that still goes on. */
void counters_read(const struct counters *counters, uint64_t tick_ns, struct rank_stats *stats);

#endif
