/* SPDX-License-Identifier: Apache-2.0 */
/* GET, PUT and DELETE of a key; see http_key_value.h. */
#include "rendezvous/api/http_key_value.h"

#include "lib/base/status.h"
#include "rendezvous/api/http_elastic_wait.h"
#include "rendezvous/api/http_route.h"
#include "rendezvous/http/http_seconds.h"
#include "rendezvous/world/job_table.h"
#include "rendezvous/world/rendezvous_job.h"

#include <stdio.h>
#include <string.h>

static bool http_key_value_all_digits(struct key_value_bytes text)
{
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
    return text.length > 0;
}

static bool is(struct key_value_bytes text, const char *word)
{
    return text.length == strlen(word) && memcmp(text.data, word, text.length) == 0;
}

static struct key_value_bytes http_key_value_bytes_of(struct http_text text)
{
    return (struct key_value_bytes){ text.data, text.length };
}

/* An answer with these bytes as its body, even if there are none. */
static void answer_bytes(struct http_answer *answer, int status, struct key_value_bytes bytes)
{
    answer->status = status;
    answer->type = "application/octet-stream";
    answer->body = bytes.data;
    answer->length = bytes.length;
    answer->has_body = true;
}

static void answer_empty(struct http_answer *answer, int status)
{
    answer_bytes(answer, status, (struct key_value_bytes){ "", 0 });
}

struct rendezvous_job *http_key_value_job(const struct http_service *service,
                                          const struct http_exchange *exchange,
                                          struct http_answer *answer)
{
    const char *id = exchange->access.job;
    struct rendezvous_job *job = job_table_find(service->job_table, id);
    if (job && job->store)
        return job;
    if (job)
        http_answer_text(answer, 404, "job %s is over", job->id);
    else if (*id)
        http_answer_text(answer, 404, "there is no job %s", id);
    else
        http_answer_text(answer, 404, "which job? expected Authorization: Bearer ID:KEY");
    return NULL;
}

/* Scopes that are paths of the rendezvous itself. */
static const struct {
    const char *scope;
    int status;
    const char *allow;
} reserved[] = {
    { "v1", 403, "" },
    { "rank_and_size", 405, "GET, HEAD" },
};

static bool http_key_value_may_use(struct key_value_bytes scope, struct http_answer *answer)
{
    for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
        if (!is(scope, reserved[i].scope))
            continue;
        http_answer_text(answer, reserved[i].status,
                         "scope \"%s\" is the server's: expected another", reserved[i].scope);
        snprintf(answer->allow, sizeof answer->allow, "%s", reserved[i].allow);
        return false;
    }
    return true;
}

static bool name_is_valid(const char *what, struct key_value_bytes name, int max,
                          struct http_answer *answer)
{
    char quoted[QUOTED_SIZE];
    if (key_value_name_valid(name, (size_t)max))
        return true;
    http_answer_text(answer, 400,
                     "%s \"%s\": expected 1 to %d of A-Z a-z 0-9 . _ : @ + = , - and not \".\" or "
                     "\"..\"",
                     what, quote_token(quoted, sizeof quoted, name.data, name.length), max);
    return false;
}

bool http_key_value_target(struct http_key_value_target *target, const struct http_service *service,
                           const struct http_exchange *exchange, struct http_answer *answer)
{
    target->scope = http_key_value_bytes_of(exchange->path.segments[0]);
    target->key = http_key_value_bytes_of(exchange->path.segments[1]);
    if (!http_key_value_may_use(target->scope, answer) ||
        !name_is_valid("scope", target->scope, KEY_VALUE_SCOPE_MAX, answer) ||
        !name_is_valid("key", target->key, KEY_VALUE_KEY_MAX, answer))
        return false;
    target->job = http_key_value_job(service, exchange, answer);
    return target->job;
}

static void refuse_query(const struct http_exchange *exchange, const char *expected,
                         struct http_answer *answer)
{
    char quoted[QUOTED_SIZE];
    struct http_text query = exchange->path.query;
    http_answer_text(answer, 400, "query \"%s\": expected %s",
                     quote_token(quoted, sizeof quoted, query.data, query.length), expected);
}

bool http_key_value_no_query(const struct http_exchange *exchange, struct http_answer *answer)
{
    if (!exchange->path.query.data)
        return true;
    refuse_query(exchange, "none", answer);
    return false;
}

void http_key_value_refuse(struct http_answer *answer, int status,
                           const struct http_key_value_target *target)
{
    char key[QUOTED_SIZE];
    quote_token(key, sizeof key, target->key.data, target->key.length);
    if (status == 409)
        http_answer_text(answer, 409, "key \"%s\": expected a number, and a sum in 64 bits", key);
    else if (status == 413)
        http_answer_text(answer, 413, "key \"%s\": expected a value of at most %d bytes", key,
                         KEY_VALUE_SIZE_MAX);
    else
        http_answer_text(answer, status,
                         "no room for key \"%s\": expected at most %d keys in a scope, %d scopes "
                         "and %d MiB, or less if other jobs leave less",
                         key, KEY_VALUE_KEYS_MAX, KEY_VALUE_SCOPES_MAX, KEY_VALUE_TOTAL_MAX >> 20);
}

/* An unmodified Horovod worker: the kernel vouches for it, it says nothing itself. */
static bool is_gloo(const struct http_exchange *exchange)
{
    return exchange->access.level != HTTP_ANYBODY && !exchange->access.credentials;
}

/* How long a GET is held, and the status if the key has not come by then. */
struct patience {
    uint64_t ms;
    int status;
};

static bool read_patience(const struct http_exchange *exchange, struct patience *patience,
                          struct http_answer *answer)
{
    struct http_text query = exchange->path.query;
    bool gloo = is_gloo(exchange) &&
                http_key_value_all_digits(http_key_value_bytes_of(exchange->path.segments[1]));
    *patience = (struct patience){ gloo ? HTTP_GLOO_HOLD_MS : 0, 404 };
    if (!query.data)
        return true;
    patience->status = 204;
    if (http_seconds_wait(query, &patience->ms))
        return true;
    refuse_query(exchange, HTTP_WAIT_EXPECTED, answer);
    return false;
}

bool http_key_value_get(struct http_service *service, struct http_exchange *exchange,
                        struct http_answer *answer)
{
    struct http_key_value_target target;
    struct patience patience;
    struct key_value_bytes value;
    if (!read_patience(exchange, &patience, answer) ||
        !http_key_value_target(&target, service, exchange, answer))
        return true;
    struct key_value *store = target.job->store;
    if (key_value_get(store, target.scope, target.key, &value) == 200) {
        answer_bytes(answer, 200, value);
        return true;
    }
    exchange->held_until_ms = exchange->began_ms + patience.ms;
    if (exchange->last || exchange->now_ms >= exchange->held_until_ms) {
        answer_empty(answer, patience.status);
        return true;
    }
    waiter_join(exchange->waiter, key_value_waiters(store, target.scope, target.key));
    return false;
}

/* The rank under whose number an unmodified worker of the plan puts its address for the others; -1:
 * the request is another. */
static int gloo_rank(const struct http_exchange *exchange,
                     const struct http_key_value_target *target)
{
    if (!target->job->planned || !is_gloo(exchange) || !is(target->scope, "global") ||
        !http_key_value_all_digits(target->key) || target->key.length > 5)
        return -1;
    int rank = 0;
    for (size_t i = 0; i < target->key.length; i++)
        rank = 10 * rank + target->key.data[i] - '0';
    return rank;
}

/* A new worker of an elastic job, with the place that it was started for. Its address waits for the
 * world, because the former world may have another with that rank. False: it is held. A worker that
 * has no such world is refused, and gives up. */
static bool new_gloo_may_put(struct http_service *service, struct http_exchange *exchange,
                             const struct http_key_value_target *target, int rank,
                             struct http_answer *answer)
{
    struct rendezvous_job *job = target->job;
    int worker = exchange->waits ? exchange->worker
                                 : elastic_find_placed(job->elastic, exchange->first_worker,
                                                       exchange->workers, rank);
    if (worker < 0)
        return true;
    enum http_elastic_wait wait = http_elastic_wait(service, exchange, job, worker);
    if (wait == HTTP_ELASTIC_HELD)
        return false;
    if (wait != HTTP_ELASTIC_MEMBER || rendezvous_job_rank_of(job, worker) != rank)
        http_answer_text(answer, 409, "worker %d is not rank %d of the next world", worker, rank);
    return true;
}

/* The addresses at which a worker of an elastic job takes notifications. */
static void notice_listener(struct http_service *service, const struct http_exchange *exchange,
                            const struct http_key_value_target *target)
{
    const struct rendezvous_job *job = target->job;
    if (!job->elastic || !job->planned || !is_gloo(exchange) ||
        !is(target->scope, "worker_addresses"))
        return;
    int worker = rendezvous_job_worker_at(job, exchange->first_worker, exchange->workers,
                                          target->key.data, target->key.length);
    if (worker >= 0)
        service->workers->listens(service, worker, exchange->body, exchange->length);
}

bool http_key_value_put(struct http_service *service, struct http_exchange *exchange,
                        struct http_answer *answer)
{
    struct http_key_value_target target;
    if (!http_key_value_no_query(exchange, answer) ||
        !http_key_value_target(&target, service, exchange, answer))
        return true;
    int rank = gloo_rank(exchange, &target);
    if (rank >= 0 && target.job->elastic &&
        !new_gloo_may_put(service, exchange, &target, rank, answer))
        return false;
    if (answer->status != 0)
        return true;
    struct key_value *store = target.job->store;
    int rc = key_value_put(store, target.scope, target.key, exchange->body, exchange->length);
    if (rc != 200) {
        http_key_value_refuse(answer, rc, &target);
        return true;
    }
    if (rank >= 0)
        rendezvous_job_saw_gloo(target.job, rank);
    notice_listener(service, exchange, &target);
    key_value_wake(store, &service->woken);
    answer_empty(answer, 200);
    return true;
}

bool http_key_value_delete(struct http_service *service, struct http_exchange *exchange,
                           struct http_answer *answer)
{
    struct http_key_value_target target;
    if (!http_key_value_no_query(exchange, answer) ||
        !http_key_value_target(&target, service, exchange, answer))
        return true;
    key_value_delete(target.job->store, target.scope, target.key);
    answer_empty(answer, 200);
    return true;
}
