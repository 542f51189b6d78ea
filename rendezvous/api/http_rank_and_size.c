/* SPDX-License-Identifier: Apache-2.0 */
/* GET /rank_and_size/HOST:LOCAL_RANK: an unmodified Horovod worker that starts over asks for its
 * rank numbers. The worker reads 404 as six zeros, so a rank outside the plan gets six times -1.
 *
 * In an elastic job the request means that the worker has left its world. It is held, for as long
 * as it takes, until the next world is made, and answered with the new place; a worker that was
 * removed gets six times -1. 503 when the worker cannot wait any more, because its process has
 * ended or memory has run out. */
#include "rendezvous/api/http_elastic_wait.h"
#include "rendezvous/api/http_key_value.h"
#include "rendezvous/api/http_route.h"
#include "rendezvous/world/rendezvous_job.h"

#include <stdio.h>
#include <string.h>

static const struct rank_info no_place = { -1, -1, -1, -1, -1, -1 };

static struct rank_info http_rank_and_size_find(const struct rendezvous_job *job,
                                                struct http_text text)
{
    for (int rank = 0; rank < job->size; rank++)
        if (rendezvous_slot_is(&job->slots[rank], text.data, text.length))
            return job->slots[rank].rank_info;
    return no_place;
}

static void answer_rank_and_size(struct http_answer *answer, const struct rank_info *rank_info)
{
    char text[80];
    int length = snprintf(text, sizeof text, "%d,%d,%d,%d,%d,%d", rank_info->rank, rank_info->size,
                          rank_info->local_rank, rank_info->local_size, rank_info->cross_rank,
                          rank_info->cross_size);
    wire_put_bytes(&answer->made, text, (size_t)length);
    answer->status = 200;
}

static bool next_rank_and_size(struct http_service *service, struct http_exchange *exchange,
                               struct http_answer *answer, struct rendezvous_job *job)
{
    struct http_text place = exchange->path.segments[1];
    int worker = exchange->waits
                     ? exchange->worker
                     : rendezvous_job_worker_at(job, exchange->first_worker, exchange->workers,
                                                place.data, place.length);
    if (worker < 0) {
        answer_rank_and_size(answer, &no_place);
        return true;
    }
    switch (http_elastic_wait(service, exchange, job, worker)) {
    case HTTP_ELASTIC_HELD:
        return false;
    case HTTP_ELASTIC_MEMBER:
        answer_rank_and_size(answer, &job->slots[rendezvous_job_rank_of(job, worker)].rank_info);
        return true;
    case HTTP_ELASTIC_REMOVED:
        answer_rank_and_size(answer, &no_place);
        return true;
    default:
        http_answer_text(answer, 503, "worker %d cannot wait for the next world", worker);
        return true;
    }
}

bool http_rank_and_size(struct http_service *service, struct http_exchange *exchange,
                        struct http_answer *answer)
{
    if (!http_key_value_no_query(exchange, answer))
        return true;
    struct rendezvous_job *job = http_key_value_job(service, exchange, answer);
    if (!job)
        return true;
    if (job->elastic && job->planned)
        return next_rank_and_size(service, exchange, answer, job);
    if (!job->slots) {
        http_answer_text(answer, 403, "job %s: its places are not known", job->id);
        return true;
    }
    struct rank_info rank_info = http_rank_and_size_find(job, exchange->path.segments[1]);
    answer_rank_and_size(answer, &rank_info);
    return true;
}
