/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' text about ranks; see metrics.h. Each family needs all ranks, so the counters of
 * all ranks are read once for each family. */
#include "rendezvous/api/metrics.h"
#include "rendezvous/api/metrics_line.h"
#include "rendezvous/world/job_table.h"
#include "rendezvous/world/stalls.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LABELS_SIZE = JOB_ID_SIZE + 32 };

/* A rank that has series of its own. */
struct counted_rank {
    const struct rendezvous_job *job;
    int rank;
    struct rank_stats stats;
    char labels[LABELS_SIZE]; /* job="train",rank="3" */
};

/* Characters of a job's id need no escape in a label (job_id.h). */
static void name_rank(struct counted_rank *counted)
{
    const struct rendezvous_job *job = counted->job;
    if (job->planned)
        snprintf(counted->labels, sizeof counted->labels, "rank=\"%d\"", counted->rank);
    else
        snprintf(counted->labels, sizeof counted->labels, "job=\"%s\",rank=\"%d\"", job->id,
                 counted->rank);
}

typedef void put_rank_fn(struct wire_writer *out, const struct counted_rank *counted);

bool metrics_has_ranks(const struct rendezvous_job *job, const char *job_id)
{
    return job->ranks && (!job_id || strcmp(job_id, job->id) == 0) &&
           (job->planned || !rendezvous_job_is_over(job));
}

/* Returns how many ranks found no room. */
static int each_rank(struct wire_writer *out, const struct job_table *job_table, const char *job_id,
                     put_rank_fn *put_rank)
{
    int count = 0;
    struct counted_rank counted;
    TAILQ_FOREACH(counted.job, &job_table->list, link)
    {
        if (!metrics_has_ranks(counted.job, job_id))
            continue;
        for (counted.rank = 0; counted.rank < counted.job->size; counted.rank++) {
            if (!rendezvous_job_rank_stats(counted.job, counted.rank, &counted.stats) ||
                count++ >= METRICS_RANKS_MAX)
                continue;
            name_rank(&counted);
            put_rank(out, &counted);
        }
    }
    return count > METRICS_RANKS_MAX ? count - METRICS_RANKS_MAX : 0;
}

static void put_counts(struct wire_writer *out, const struct counted_rank *counted)
{
    for (int i = 0; i < STATS_OPERATIONS; i++)
        if (counted->stats.operations[i].count > 0)
            metrics_line(out, "hvd_collectives_total{%s,operation=\"%s\"} %" PRIu64 "\n",
                         counted->labels, stats_operation_name(i),
                         counted->stats.operations[i].count);
}

static void put_bytes(struct wire_writer *out, const struct counted_rank *counted)
{
    for (int i = 0; i < STATS_OPERATIONS; i++)
        if (counted->stats.operations[i].count > 0)
            metrics_line(out, "hvd_collective_bytes_total{%s,operation=\"%s\"} %" PRIu64 "\n",
                         counted->labels, stats_operation_name(i),
                         counted->stats.operations[i].bytes);
}

static void put_latency(struct wire_writer *out, const char *labels, const char *operation,
                        const struct operation_stats *stats)
{
    uint64_t sum = 0;
    for (int i = 0; i <= STATS_BUCKETS; i++) {
        char bound[32] = "+Inf";
        sum += stats->buckets[i];
        if (i < STATS_BUCKETS)
            snprintf(bound, sizeof bound, "%g", (double)stats_bucket_ns(i) / 1e9);
        metrics_line(out,
                     "hvd_collective_latency_seconds_bucket{%s,operation=\"%s\",le=\"%s\"} %" PRIu64
                     "\n",
                     labels, operation, bound, sum);
    }
    metrics_line(out, "hvd_collective_latency_seconds_sum{%s,operation=\"%s\"} %.9f\n", labels,
                 operation, (double)stats->latency_ns / 1e9);
    metrics_line(out, "hvd_collective_latency_seconds_count{%s,operation=\"%s\"} %" PRIu64 "\n",
                 labels, operation, sum);
}

static void put_latencies(struct wire_writer *out, const struct counted_rank *counted)
{
    for (int i = 0; i < STATS_OPERATIONS; i++)
        if (counted->stats.operations[i].count > 0)
            put_latency(out, counted->labels, stats_operation_name(i),
                        &counted->stats.operations[i]);
}

static void put_waiting(struct wire_writer *out, const struct counted_rank *counted)
{
    metrics_line(out, "hvd_waiting_seconds_total{%s} %.3f\n", counted->labels,
                 (double)counted->stats.waiting_ns / 1e9);
}

static void put_uptime(struct wire_writer *out, const struct counted_rank *counted)
{
    metrics_line(out, "hvd_rank_uptime_seconds{%s} %.3f\n", counted->labels,
                 (double)counted->stats.uptime_ns / 1e9);
}

/* The job of hvdrun is the only one, and so has no label. */
static void put_of_job(struct wire_writer *out, const char *family,
                       const struct rendezvous_job *job, int64_t value)
{
    if (job->planned)
        metrics_line(out, "%s %" PRId64 "\n", family, value);
    else
        metrics_line(out, "%s{job=\"%s\"} %" PRId64 "\n", family, job->id, value);
}

/* Stalled ranks are counted by job, because one rank that stays away stalls all other ranks. */
static void put_stalled(struct wire_writer *out, const struct job_table *job_table,
                        const char *job_id)
{
    const struct rendezvous_job *at;
    metrics_family(out, "hvd_stalled_ranks", "gauge",
                   "Ranks that wait for others that have not submitted a tensor.");
    TAILQ_FOREACH(at, &job_table->list, link)
    {
        struct stalls stalls;
        struct rank_waits waits;
        int count = 0;
        if (!metrics_has_ranks(at, job_id))
            continue;
        stalls_init(&stalls, at);
        for (int rank = 0; rank < at->size; rank++)
            count += stalls_find(&stalls, rank, &waits) != NULL;
        put_of_job(out, "hvd_stalled_ranks", at, count);
    }
}

static int64_t epoch_of_job(const struct rendezvous_job *job)
{
    return job->membership.epoch;
}

static int64_t size_of_job(const struct rendezvous_job *job)
{
    return job->size;
}

/* The world that an elastic job, or one that has called hvd_init() again, is in. */
static void put_worlds(struct wire_writer *out, const struct job_table *job_table,
                       const char *job_id)
{
    static const struct {
        const char *name, *help;
        int64_t (*value)(const struct rendezvous_job *job);
    } families[] = {
        { "hvd_epoch", "Epoch of the world: how many worlds the job had before.", epoch_of_job },
        { "hvd_world_size", "Ranks of the world.", size_of_job },
    };
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const struct rendezvous_job *at;
        metrics_family(out, families[i].name, "gauge", families[i].help);
        TAILQ_FOREACH(at, &job_table->list, link)
        {
            if (metrics_has_ranks(at, job_id))
                put_of_job(out, families[i].name, at, families[i].value(at));
        }
    }
}

void metrics_write_ranks(struct wire_writer *out, const struct job_table *job_table,
                         const char *job_id)
{
    static const struct {
        const char *name, *type, *help;
        put_rank_fn *put;
    } families[] = {
        { "hvd_collectives_total", "counter", "Collectives that a rank has finished.", put_counts },
        { "hvd_collective_bytes_total", "counter",
          "Bytes of the tensors that a rank submitted for them.", put_bytes },
        { "hvd_collective_latency_seconds", "histogram",
          "From submission to completion; of thousands in a second some are sampled.",
          put_latencies },
        { "hvd_waiting_seconds_total", "counter",
          "Time in which at least one thread of a rank waited for a collective.", put_waiting },
        { "hvd_rank_uptime_seconds", "gauge", "Time since hvd_init of a rank.", put_uptime },
    };
    int left_out = 0;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        metrics_family(out, families[i].name, families[i].type, families[i].help);
        left_out = each_rank(out, job_table, job_id, families[i].put);
    }
    put_stalled(out, job_table, job_id);
    put_worlds(out, job_table, job_id);
    metrics_family(out, "hvd_ranks_left_out", "gauge",
                   "Ranks that have no series because there are too many.");
    metrics_line(out, "hvd_ranks_left_out %d\n", left_out);
}
