/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that wait for a world; see http_elastic_wait.h. */
#include "rendezvous/api/http_elastic_wait.h"

#include "rendezvous/world/rendezvous_job.h"

enum http_elastic_wait http_elastic_wait(struct http_service *service,
                                         struct http_exchange *exchange, struct rendezvous_job *job,
                                         int worker)
{
    if (!exchange->waits) {
        int rc = service->workers->wait(service, job, worker, exchange->now_ms);
        if (rc < 0)
            return rc == HVD_ERR_REMOVED ? HTTP_ELASTIC_REMOVED : HTTP_ELASTIC_GONE;
        exchange->waits = true;
        exchange->worker = worker;
    }
    switch (elastic_state_of(job->elastic, worker)) {
    case ELASTIC_PRESENT:
        return HTTP_ELASTIC_MEMBER;
    case ELASTIC_WAITING:
        exchange->patient = true;
        waiter_join(exchange->waiter, &job->comers);
        return HTTP_ELASTIC_HELD;
    default:
        return job->elastic->workers[worker].removed ? HTTP_ELASTIC_REMOVED : HTTP_ELASTIC_GONE;
    }
}
