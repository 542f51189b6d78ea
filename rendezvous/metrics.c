/* SPDX-License-Identifier: Apache-2.0 */
/* Counting; see metrics.h. What comes out is in metrics_text.c. */
#include "rendezvous/metrics.h"

/* Answers that we give, and one column for any other. */
static const int codes[METRICS_CODES_MAX - 1] = { 200, 201, 204, 304, 400, 401, 403, 404,
                                                  405, 408, 409, 411, 413, 414, 417, 422,
                                                  429, 431, 500, 501, 503, 505, 507 };

/* In powers of ten and what lies evenly between them: of one machine to a cluster that starts. */
static const int bounds_ms[METRICS_JOIN_BUCKETS] = { 1,   2,   5,    10,   30,    100,
                                                     300, 500, 1000, 3000, 10000, 30000 };

int metrics_code(int code)
{
    return code < METRICS_CODES_MAX - 1 ? codes[code] : 0;
}

int metrics_bucket_ms(int bucket)
{
    return bounds_ms[bucket];
}

void metrics_request(struct metrics *metrics, int route, int status)
{
    int column = 0;
    while (column < METRICS_CODES_MAX - 1 && codes[column] != status)
        column++;
    if (route < 0 || route >= METRICS_ROUTES_MAX - 1)
        route = METRICS_ROUTES_MAX - 1;
    metrics->requests[route][column]++;
}

void metrics_joined(struct metrics *metrics, uint64_t elapsed_ms)
{
    int bucket = 0;
    while (bucket < METRICS_JOIN_BUCKETS && elapsed_ms > (uint64_t)bounds_ms[bucket])
        bucket++;
    metrics->join_buckets[bucket]++;
    metrics->join_count++;
    metrics->join_seconds += (double)elapsed_ms / 1000;
}
