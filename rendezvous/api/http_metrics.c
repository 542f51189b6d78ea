/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: metrics for Prometheus. The handler first asks the ranks of all jobs that the
 * client may see for their counters, so that ranks send nothing while no client asks. The answer is
 * held until all ranks have answered, METRICS_ASK_MS at most; for a rank that has not answered, it
 * has the last known counters. ?ranks=no asks no rank and omits the ranks. 500 without memory. */
#include "rendezvous/api/http_route.h"
#include "rendezvous/api/metrics.h"
#include "rendezvous/world/job_table.h"

#include <string.h>

enum { METRICS_ASK_MS = 1000 };

static bool wants_ranks(const struct http_exchange *exchange)
{
    static const char no[] = "ranks=no";
    const struct http_text *query = &exchange->path.query;
    return query->length != sizeof no - 1 || memcmp(query->data, no, sizeof no - 1) != 0;
}

static void ask_all(struct http_service *service, const char *job_id, uint64_t now_ms)
{
    struct rendezvous_job *at;
    TAILQ_FOREACH(at, &service->job_table->list, link)
    if (metrics_has_ranks(at, job_id) && at->connected > 0)
        service->workers->ask(service, at,
                              now_ms); /* without memory: the answer has what was known before */
}

/* Joins the watchers of a job whose rank query is under way; false if there is none. */
static bool waits(struct http_service *service, const char *job_id, struct waiter *waiter)
{
    struct rendezvous_job *at;
    TAILQ_FOREACH(at, &service->job_table->list, link)
    {
        if (!metrics_has_ranks(at, job_id) || !rank_query_is_open(&at->rank_query))
            continue;
        waiter_join(waiter, &at->watchers);
        return true;
    }
    return false;
}

bool http_metrics(struct http_service *service, struct http_exchange *exchange,
                  struct http_answer *answer)
{
    bool all = exchange->access.level == HTTP_OF_SERVICE || service->job_table->only;
    const char *job_id = all ? NULL : exchange->access.job; /* whose ranks are shown */
    bool ranks = wants_ranks(exchange);
    if (ranks && exchange->held_until_ms == 0) {
        ask_all(service, job_id, exchange->now_ms);
        exchange->held_until_ms = exchange->now_ms + METRICS_ASK_MS;
    }
    if (ranks && !exchange->last && waits(service, job_id, exchange->waiter))
        return false;
    *answer =
        (struct http_answer){ .status = 200, .type = "text/plain; version=0.0.4; charset=utf-8" };
    metrics_write(&answer->made, service->metrics, service->job_table);
    if (ranks)
        metrics_write_ranks(&answer->made, service->job_table, job_id);
    if (!answer->made.failed)
        return true;
    http_answer_fini(answer);
    *answer = (struct http_answer){ .status = 500 };
    return true;
}
