/* SPDX-License-Identifier: Apache-2.0 */
/* GET /rank_and_size/HOST:LOCAL_RANK: an unmodified Horovod worker that starts over asks for its
 * rank numbers. The worker reads 404 as six zeros, so a rank outside the plan gets six times -1. */
#include "rendezvous/api/http_key_value.h"
#include "rendezvous/api/http_route.h"
#include "rendezvous/world/rendezvous_job.h"

#include <stdio.h>
#include <string.h>

/* HOST:LOCAL_RANK, written as the plan writes it. */
static bool names_slot(struct http_text text, const struct rendezvous_slot *slot)
{
    size_t host = strlen(slot->host);
    if (text.length <= host || memcmp(text.data, slot->host, host) != 0)
        return false;
    char rest[16];
    int length = snprintf(rest, sizeof rest, ":%d", slot->rank_info.local_rank);
    return text.length - host == (size_t)length &&
           memcmp(text.data + host, rest, (size_t)length) == 0;
}

static struct rank_info http_rank_and_size_find(const struct rendezvous_job *job,
                                                struct http_text text)
{
    for (int rank = 0; rank < job->size; rank++)
        if (names_slot(text, &job->slots[rank]))
            return job->slots[rank].rank_info;
    return (struct rank_info){ -1, -1, -1, -1, -1, -1 };
}

bool http_rank_and_size(struct http_service *service, struct http_exchange *exchange,
                        struct http_answer *answer)
{
    if (!http_key_value_no_query(exchange, answer))
        return true;
    struct rendezvous_job *job = http_key_value_job(service, exchange, answer);
    if (!job)
        return true;
    if (!job->slots) {
        http_answer_text(answer, 403, "job %s: its places are not known", job->id);
        return true;
    }
    struct rank_info rank_info = http_rank_and_size_find(job, exchange->path.segments[1]);
    char text[80];
    int length = snprintf(text, sizeof text, "%d,%d,%d,%d,%d,%d", rank_info.rank, rank_info.size,
                          rank_info.local_rank, rank_info.local_size, rank_info.cross_rank,
                          rank_info.cross_size);
    wire_put_bytes(&answer->made, text, (size_t)length);
    answer->status = 200;
    return true;
}
