/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a rank; see counters.h. */
#include "lib/engine/counters.h"

#include "lib/base/clock.h"

#include <string.h>

_Static_assert((int)STATS_ALLREDUCE == COLLECTIVE_ALLREDUCE - 1 &&
                   (int)STATS_JOIN == COLLECTIVE_JOIN - 1 &&
                   (int)STATS_OPERATIONS == COLLECTIVE_JOIN,
               "operations are counted in the order of their kinds");

void counters_start(struct counters *counters, uint64_t now_ns)
{
    *counters = (struct counters){ .since_ns = now_ns };
}

void counters_submitted(struct counters *counters, struct tensor *tensor)
{
    if (counters->tick_ns != tensor->since_ns) {
        counters->tick_ns = tensor->since_ns;
        counters->in_tick = 0;
    }
    unsigned number = ++counters->in_tick;
    if (number <= COUNTERS_EXACT)
        tensor->timed = 1;
    else
        tensor->timed = number % COUNTERS_SAMPLE == 0 ? COUNTERS_SAMPLE : 0;
    if (tensor->timed > 0)
        tensor->timed_ns = monotonic_ns();
}

void counters_done(struct counters *counters, const struct tensor *tensor, uint64_t tick_ns)
{
    int operation = (int)tensor->description.kind - 1;
    if (operation >= STATS_OPERATIONS)
        return; /* a process set was added or removed */
    struct operation_stats *stats = &counters->operations[operation];
    stats->count++;
    stats->bytes += description_bytes(&tensor->description);
    uint64_t ticks_ns = tick_ns > tensor->since_ns ? tick_ns - tensor->since_ns : 0;
    bool is_long = ticks_ns > COUNTERS_LONG_NS;
    if (tensor->timed > 0)
        stats_add_latency(stats, monotonic_ns() - tensor->timed_ns, is_long ? 1 : tensor->timed);
    else if (is_long)
        stats_add_latency(stats, ticks_ns, 1);
}

void counters_read(const struct counters *counters, uint64_t tick_ns, struct rank_stats *stats)
{
    *stats = (struct rank_stats){ .waiting_ns = counters->waiting_ns };
    if (counters->since_ns > 0 && tick_ns > counters->since_ns)
        stats->uptime_ns = tick_ns - counters->since_ns;
    if (counters->waiting > 0 && tick_ns > counters->waiting_since_ns)
        stats->waiting_ns += tick_ns - counters->waiting_since_ns;
    if (stats->waiting_ns > stats->uptime_ns)
        stats->waiting_ns = stats->uptime_ns;
    memcpy(stats->operations, counters->operations, sizeof stats->operations);
}
