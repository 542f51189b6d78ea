/* SPDX-License-Identifier: Apache-2.0 */
/* GET /metrics: what Prometheus scrapes. */
#include "rendezvous/http_route.h"
#include "rendezvous/metrics.h"

bool http_metrics(struct http_service *service, struct http_exchange *exchange,
                  struct http_answer *answer)
{
    (void)exchange;
    *answer =
        (struct http_answer){ .status = 200, .type = "text/plain; version=0.0.4; charset=utf-8" };
    metrics_write(&answer->made, service->metrics, service->meetings);
    if (!answer->made.failed)
        return true;
    http_answer_fini(answer);
    *answer = (struct http_answer){ .status = 500 };
    return true;
}
