/* SPDX-License-Identifier: Apache-2.0 */
/* Counters since the start, as numbers, and as Prometheus' text (format 0.0.4).
 *
 * Two kinds of series exist. The counters of the rendezvous itself have no label with the name of a
 * job, a host or a rank: the number of series is known before the first job (routes
 * times codes, states, kinds), however many jobs a service has. The counters of ranks
 * (lib/base/rank_stats.h) have the label rank, and in a service also job. Only jobs that are
 * not over have such series, so that a service does not collect them for ever, and only the first
 * METRICS_RANKS_MAX ranks that have counted anything; hvd_ranks_left_out says how many are missing.
 * For each operation that a rank has used there are 17 lines of some 100 bytes: 12 MB at most if
 * all of them use two. Series with names of jobs go only to clients that may see the job. */
#ifndef RENDEZVOUS_API_METRICS_H
#define RENDEZVOUS_API_METRICS_H

#include "lib/base/wire.h"
#include "rendezvous/http/http_status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rendezvous_job;
struct job_table;

enum {
    METRICS_ROUTES_MAX = 24,
    METRICS_CODES_MAX = HTTP_STATUSES + 1,
    METRICS_JOIN_BUCKETS = 12,
    METRICS_RANKS_MAX = 4096
};

/* The kind of a connection, by its first bytes. */
enum metrics_kind { METRICS_UNAUTHENTICATED, METRICS_HTTP, METRICS_WORKER, METRICS_KINDS };

struct metrics {
    /* [METRICS_ROUTES_MAX - 1]: requests that no route matched or that were malformed;
     * [][HTTP_STATUSES]: statuses that http_status.h does not have */
    uint64_t requests[METRICS_ROUTES_MAX][METRICS_CODES_MAX];
    uint64_t received_bytes, sent_bytes;
    uint64_t accepted;        /* connections, ever */
    uint64_t turned_away;     /* unauthenticated, and dropped for want of room or time */
    int open[METRICS_KINDS];  /* connections now */
    uint64_t refused_workers; /* proven HELLOs that were refused */
    uint64_t join_buckets[METRICS_JOIN_BUCKETS + 1]; /* not cumulative; the last one: longer */
    uint64_t join_count;
    double join_seconds; /* sum */
    uint64_t started_ms; /* since 1970; 0: not known */
};

/* `route` as http_route_index(), or -1. */
void metrics_request(struct metrics *metrics, int route, int status);

/* Adds the time from the first HELLO of a job to its last one. */
void metrics_joined(struct metrics *metrics, uint64_t elapsed_ms);

/* Appends the text: everything above, and of the job table: jobs by state, workers by state, keys
 * and bytes in the stores. */
void metrics_write(struct wire_writer *out, const struct metrics *metrics,
                   const struct job_table *job_table);

/* The counters of ranks as of their last answers: of the job with that id, or of all jobs
 * (NULL). */
void metrics_write_ranks(struct wire_writer *out, const struct job_table *job_table,
                         const char *job_id);

/* Does `job` have counters of ranks, and has it that id (NULL: any)? */
bool metrics_has_ranks(const struct rendezvous_job *job, const char *job_id);

/* For metrics_write() and tests: the upper bound of a bucket. */
int metrics_bucket_ms(int bucket);

/* Appends the value of a label as it stands between quotes: backslash, quote, newline escaped. */
void metrics_escape(struct wire_writer *out, const char *value);

#endif
