/* SPDX-License-Identifier: Apache-2.0 */
/* Counting; see metrics.h. metrics_text.c writes the text. */
#include "rendezvous/api/metrics.h"

/* Powers of ten, and bounds between them: from the start of a job on one machine to that on a large
 * cluster. */
static const int bounds_ms[METRICS_JOIN_BUCKETS] = { 1,   2,   5,    10,   30,    100,
                                                     300, 500, 1000, 3000, 10000, 30000 };

int metrics_bucket_ms(int bucket)
{
    return bounds_ms[bucket];
}

void metrics_request(struct metrics *metrics, int route, int status)
{
    if (route < 0 || route >= METRICS_ROUTES_MAX - 1)
        route = METRICS_ROUTES_MAX - 1;
    metrics->requests[route][http_status_index(status)]++;
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
