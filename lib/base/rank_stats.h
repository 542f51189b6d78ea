/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives that a rank has finished since hvd_init(), counted by operation, and the time
 * that its program has waited for them. The engine counts (lib/engine/counters.h), REPORT carries
 * the numbers to the rendezvous (join_protocol.h), and GET /v1/jobs/ID and /metrics show them.
 *
 * On the wire:
 *
 *   u64 uptime_ns   u64 waiting_ns   u8 count   count times OPERATION, ascending by operation
 *   OPERATION   u8 operation   u64 count   u64 bytes   u64 latency_ns   STATS_BUCKETS + 1 times u64
 *
 * Operations with a count of zero are left out. */
#ifndef LIB_BASE_RANK_STATS_H
#define LIB_BASE_RANK_STATS_H

#include "lib/base/wire.h"

#include <stdint.h>

/* In the order of enum collective_kind (lib/negotiation/description.h). */
enum stats_operation {
    STATS_ALLREDUCE,
    STATS_ALLGATHER,
    STATS_BROADCAST,
    STATS_ALLTOALL,
    STATS_REDUCESCATTER,
    STATS_BARRIER,
    STATS_JOIN,
    STATS_OPERATIONS
};

enum {
    STATS_BUCKETS = 12, /* of the latency histogram, besides the one for longer latencies */
    STATS_ENCODED_MAX = 8 + 8 + 1 + STATS_OPERATIONS * (1 + 3 * 8 + (STATS_BUCKETS + 1) * 8)
};

struct operation_stats {
    uint64_t count; /* finished collectives; each tensor of a group counts */
    uint64_t bytes; /* of this rank's own tensors in them */

    /* From submission to completion. When a rank finishes more than some thousands of collectives
     * in a second, short ones are sampled, and each sample counts for several. */
    uint64_t latency_ns;                 /* sum of those in the buckets */
    uint64_t buckets[STATS_BUCKETS + 1]; /* not cumulative; the last one: longer than all bounds */
};

struct rank_stats {
    uint64_t uptime_ns;  /* since hvd_init() */
    uint64_t waiting_ns; /* of that, while at least one thread waited for a collective */
    struct operation_stats operations[STATS_OPERATIONS];
};

/* "allreduce" */
const char *stats_operation_name(enum stats_operation operation);

/* The upper bound of a bucket of the histogram; the last bucket has none. */
uint64_t stats_bucket_ns(int bucket);

/* Adds `weight` collectives with this latency. */
void stats_add_latency(struct operation_stats *stats, uint64_t latency_ns, uint64_t weight);

/* The sum over all operations. */
struct operation_stats stats_total(const struct rank_stats *stats);

/* The reader fails on an unknown operation, an operation out of order, and a waiting time that is
 * longer than the uptime. */
void rank_stats_encode(struct wire_writer *writer, const struct rank_stats *stats);
void rank_stats_decode(struct rank_stats *stats, struct wire_reader *reader);

#endif
