/* SPDX-License-Identifier: Apache-2.0 */
/* The counts of a rank; see rank_stats.h. */
#include "lib/base/rank_stats.h"

#define US 1000ull
#define MS (1000 * US)
#define S (1000 * MS)

static const char *const names[STATS_OPERATIONS] = { "allreduce", "allgather",     "broadcast",
                                                     "alltoall",  "reducescatter", "barrier",
                                                     "join" };

/* The bounds range from ranks that share memory to a rank that writes a checkpoint. */
static const uint64_t bounds_ns[STATS_BUCKETS] = { 10 * US,  30 * US,  100 * US, 300 * US,
                                                   1 * MS,   3 * MS,   10 * MS,  30 * MS,
                                                   100 * MS, 300 * MS, 1 * S,    10 * S };

const char *stats_operation_name(enum stats_operation operation)
{
    return names[operation];
}

uint64_t stats_bucket_ns(int bucket)
{
    return bounds_ns[bucket];
}

void stats_add_latency(struct operation_stats *stats, uint64_t latency_ns, uint64_t weight)
{
    int bucket = 0;
    while (bucket < STATS_BUCKETS && latency_ns > bounds_ns[bucket])
        bucket++;
    stats->buckets[bucket] += weight;
    stats->latency_ns += weight * latency_ns;
}

struct operation_stats stats_total(const struct rank_stats *stats)
{
    struct operation_stats total = { 0 };
    for (int i = 0; i < STATS_OPERATIONS; i++) {
        total.count += stats->operations[i].count;
        total.bytes += stats->operations[i].bytes;
        total.latency_ns += stats->operations[i].latency_ns;
        for (int bucket = 0; bucket <= STATS_BUCKETS; bucket++)
            total.buckets[bucket] += stats->operations[i].buckets[bucket];
    }
    return total;
}

static void operation_encode(struct wire_writer *writer, const struct operation_stats *stats)
{
    wire_put_u64(writer, stats->count);
    wire_put_u64(writer, stats->bytes);
    wire_put_u64(writer, stats->latency_ns);
    for (int bucket = 0; bucket <= STATS_BUCKETS; bucket++)
        wire_put_u64(writer, stats->buckets[bucket]);
}

static void operation_decode(struct operation_stats *stats, struct wire_reader *reader)
{
    stats->count = wire_get_u64(reader);
    stats->bytes = wire_get_u64(reader);
    stats->latency_ns = wire_get_u64(reader);
    for (int bucket = 0; bucket <= STATS_BUCKETS; bucket++)
        stats->buckets[bucket] = wire_get_u64(reader);
}

void rank_stats_encode(struct wire_writer *writer, const struct rank_stats *stats)
{
    int count = 0;
    for (int i = 0; i < STATS_OPERATIONS; i++)
        count += stats->operations[i].count > 0;
    wire_put_u64(writer, stats->uptime_ns);
    wire_put_u64(writer, stats->waiting_ns);
    wire_put_u8(writer, (uint8_t)count);
    for (int i = 0; i < STATS_OPERATIONS; i++) {
        if (stats->operations[i].count == 0)
            continue;
        wire_put_u8(writer, (uint8_t)i);
        operation_encode(writer, &stats->operations[i]);
    }
}

void rank_stats_decode(struct rank_stats *stats, struct wire_reader *reader)
{
    int next = 0;
    *stats = (struct rank_stats){ 0 };
    stats->uptime_ns = wire_get_u64(reader);
    stats->waiting_ns = wire_get_u64(reader);
    bool valid = stats->waiting_ns <= stats->uptime_ns;
    int count = wire_get_u8(reader);
    for (int i = 0; i < count && valid && !reader->failed; i++) {
        int operation = wire_get_u8(reader);
        valid = operation >= next && operation < STATS_OPERATIONS;
        if (!valid)
            break;
        operation_decode(&stats->operations[operation], reader);
        valid = stats->operations[operation].count > 0;
        next = operation + 1;
    }
    if (!valid)
        reader->failed = true;
}
