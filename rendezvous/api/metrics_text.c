/* SPDX-License-Identifier: Apache-2.0 */
/* Prometheus' text; see metrics.h. Each family begins with HELP and TYPE and continues with its
 * samples, no two of which have the same labels. */
#include "rendezvous/api/http_route.h"
#include "rendezvous/api/metrics.h"
#include "rendezvous/api/metrics_line.h"
#include "rendezvous/world/job_table.h"
#include "rendezvous/world/rank_states.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void metrics_line(struct wire_writer *out, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    wire_put_bytes(out, line, strlen(line));
}

void metrics_family(struct wire_writer *out, const char *name, const char *type, const char *help)
{
    metrics_line(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void single(struct wire_writer *out, const char *name, const char *type, const char *help,
                   uint64_t value)
{
    metrics_family(out, name, type, help);
    metrics_line(out, "%s %" PRIu64 "\n", name, value);
}

void metrics_escape(struct wire_writer *out, const char *value)
{
    for (; *value; value++) {
        char escaped[2] = { '\\', *value == '\n' ? 'n' : *value };
        bool plain = !strchr("\\\"\n", *value);
        wire_put_bytes(out, escaped + plain, plain ? 1 : 2);
    }
}

static void put_requests(struct wire_writer *out, const uint64_t requests[METRICS_CODES_MAX],
                         const char *route)
{
    for (int code = 0; code < METRICS_CODES_MAX; code++) {
        if (requests[code] == 0)
            continue;
        metrics_line(out, "hvd_http_requests_total{route=\"");
        metrics_escape(out, route);
        if (http_status_code(code))
            metrics_line(out, "\",code=\"%d\"} %" PRIu64 "\n", http_status_code(code),
                         requests[code]);
        else
            metrics_line(out, "\",code=\"other\"} %" PRIu64 "\n", requests[code]);
    }
}

static void put_http(struct wire_writer *out, const struct metrics *metrics)
{
    metrics_family(
        out, "hvd_http_requests_total", "counter",
        "Answered HTTP requests by route and status; route \"none\" is no route, or no request.");
    for (int route = 0; route < http_route_count(); route++)
        put_requests(out, metrics->requests[route], http_route_name(route));
    put_requests(out, metrics->requests[METRICS_ROUTES_MAX - 1], "none");
}

static void put_connections(struct wire_writer *out, const struct metrics *metrics)
{
    static const char *const kinds[METRICS_KINDS] = { "unauthenticated", "http", "worker" };
    single(out, "hvd_connections_accepted_total", "counter", "Connections that came in.",
           metrics->accepted);
    single(out, "hvd_connections_turned_away_total", "counter",
           "Unauthenticated clients dropped for want of room, or when their time was over.",
           metrics->turned_away);
    metrics_family(out, "hvd_connections_open", "gauge",
                   "Connections by what they turned out to be.");
    for (int kind = 0; kind < METRICS_KINDS; kind++)
        metrics_line(out, "hvd_connections_open{kind=\"%s\"} %d\n", kinds[kind],
                     metrics->open[kind]);
    single(out, "hvd_received_bytes_total", "counter", "Bytes received on all connections.",
           metrics->received_bytes);
    single(out, "hvd_sent_bytes_total", "counter", "Bytes sent on all connections.",
           metrics->sent_bytes);
    single(out, "hvd_refused_workers_total", "counter",
           "Workers that proved the key and were refused.", metrics->refused_workers);
}

static void put_join(struct wire_writer *out, const struct metrics *metrics)
{
    uint64_t sum = 0;
    metrics_family(out, "hvd_join_seconds", "histogram", "From a job's first worker to its last.");
    for (int i = 0; i < METRICS_JOIN_BUCKETS; i++) {
        sum += metrics->join_buckets[i];
        metrics_line(out, "hvd_join_seconds_bucket{le=\"%g\"} %" PRIu64 "\n",
                     metrics_bucket_ms(i) / 1000.0, sum);
    }
    metrics_line(out,
                 "hvd_join_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n"
                 "hvd_join_seconds_sum %.3f\n"
                 "hvd_join_seconds_count %" PRIu64 "\n",
                 metrics->join_count, metrics->join_seconds, metrics->join_count);
}

/* Of all jobs together. */
struct totals {
    int jobs[RENDEZVOUS_JOB_FAILED + 1];
    int workers[RANK_STATES];
    uint64_t keys, bytes;
};

static void add_up(struct totals *totals, const struct job_table *job_table)
{
    struct rendezvous_job *job;
    TAILQ_FOREACH(job, &job_table->list, link)
    {
        totals->jobs[rendezvous_job_state(job)]++;
        rank_states_count(job, totals->workers);
        totals->keys += job->store ? key_value_keys(job->store) : 0;
        totals->bytes += job->store ? key_value_size(job->store) : 0;
    }
}

static void put_jobs(struct wire_writer *out, const struct job_table *job_table)
{
    struct totals totals = { 0 };
    add_up(&totals, job_table);
    metrics_family(out, "hvd_jobs", "gauge",
                   "Jobs by state; those that are over are remembered a while.");
    for (int state = 0; state <= RENDEZVOUS_JOB_FAILED; state++)
        metrics_line(out, "hvd_jobs{state=\"%s\"} %d\n", rendezvous_job_state_name(state),
                     totals.jobs[state]);
    metrics_family(out, "hvd_workers", "gauge", "Workers of these jobs by state.");
    for (int state = 0; state < RANK_STATES; state++)
        metrics_line(out, "hvd_workers{state=\"%s\"} %d\n", rank_state_name(state),
                     totals.workers[state]);
    single(out, "hvd_key_value_keys", "gauge", "Keys in the key-value stores.", totals.keys);
    single(out, "hvd_key_value_bytes", "gauge", "What names and values in them take.",
           totals.bytes);
}

void metrics_write(struct wire_writer *out, const struct metrics *metrics,
                   const struct job_table *job_table)
{
    put_jobs(out, job_table);
    put_http(out, metrics);
    put_connections(out, metrics);
    put_join(out, metrics);
    if (metrics->started_ms == 0)
        return;
    metrics_family(out, "hvd_start_time_seconds", "gauge",
                   "When the rendezvous started, since 1970.");
    metrics_line(out, "hvd_start_time_seconds %.3f\n", (double)metrics->started_ms / 1000);
}
