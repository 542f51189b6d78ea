/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs over HTTP. A client with the service's key may see, declare and end any job. A client with a
 * job's key may do so with that job. A client of the job's own user has access to the only job.
 *
 *   GET /v1/jobs            {"jobs": [...]}, oldest first: those that the client may see
 *   GET /v1/jobs/ID         one in full; ?ask asks its ranks first what they are doing,
 *                           ?wait=SECONDS waits for its end, ?output adds what its ranks have
 *                           written last, and may follow the others behind "&"
 *   PUT /v1/jobs/ID         declares one (job_declaration.h), and answers with it
 *   DELETE /v1/jobs/ID      ends one: {"ended": "ID"}
 *
 * A failure is {"error": "..."}:
 *   400  no id, no declaration, no query that there is
 *   403  a job that is not the client's, whether there is such a job or not
 *   404  the client's job, but there is none now
 *   409  the launcher's job cannot be declared or ended here; a job of another size, or elastic
 *   500  out of memory
 *   507  too many jobs */
#include "rendezvous/api/http_route.h"
#include "rendezvous/api/status_json.h"
#include "rendezvous/base/json_build.h"
#include "rendezvous/http/http_json.h"
#include "rendezvous/http/http_seconds.h"
#include "rendezvous/world/job_declaration.h"
#include "rendezvous/world/job_table.h"
#include "rendezvous/world/rank_states.h"

#include <string.h>

/* Longer than RANK_QUERY_MS, so that an answer that is a little late is included. */
enum { ASK_MS = RANK_QUERY_MS + 500 };

/* Requests that may wait for the end of a job; one more is answered at once. */
enum { ONLOOKERS_MAX = 32 };

/* The query of GET /v1/jobs/ID. */
struct job_query {
    bool ask, wait, output;
    uint64_t wait_ms;
};

static cJSON *list(const struct http_service *service, const struct http_exchange *exchange)
{
    struct json_build build;
    struct rendezvous_job *own = exchange->access.level == HTTP_OF_SERVICE
                                     ? NULL
                                     : job_table_find(service->job_table, exchange->access.job);
    struct rendezvous_job *at;
    json_build_init(&build);
    cJSON *jobs = json_array(&build, build.root, "jobs");
    TAILQ_FOREACH(at, &service->job_table->list, link)
    if (exchange->access.level == HTTP_OF_SERVICE || at == own)
        json_add(&build, jobs, status_json_job(at, service->epoch_ms, exchange->now_ms));
    return json_build_finish(&build);
}

/* For a path without queries. If the request has one, fills in the answer and returns true. */
static bool has_query(const struct http_exchange *exchange, struct http_answer *answer)
{
    if (exchange->path.query.data)
        http_json_error(answer, 400, "the query: expected none");
    return exchange->path.query.data;
}

bool http_jobs(struct http_service *service, struct http_exchange *exchange,
               struct http_answer *answer)
{
    if (!has_query(exchange, answer))
        http_json_answer(answer, 200, list(service, exchange));
    return true;
}

/* The id that the path names. Fills in the answer and returns false if the id is malformed, or
 * the client may not see that job. */
static bool named(const struct http_service *service, const struct http_exchange *exchange,
                  char id[JOB_ID_SIZE], struct http_answer *answer)
{
    const struct http_text *text = &exchange->path.segments[2];
    const struct rendezvous_job *only = service->job_table->only;
    const char *own = exchange->access.job;
    if (!job_id_valid(text->data, text->length)) {
        http_json_error(answer, 400, "the id of a job: expected " JOB_ID_EXPECTED);
        return false;
    }
    memcpy(id, text->data, text->length);
    id[text->length] = '\0';
    if (!*own && only)
        own = only->id;
    if (exchange->access.level == HTTP_OF_SERVICE || strcmp(own, id) == 0)
        return true;
    http_json_error(answer, 403, "job %s is not that of the key", id);
    return false;
}

static struct rendezvous_job *http_jobs_find(const struct http_service *service,
                                             const struct http_exchange *exchange,
                                             struct http_answer *answer)
{
    char id[JOB_ID_SIZE];
    if (!named(service, exchange, id, answer))
        return NULL;
    struct rendezvous_job *job = job_table_find(service->job_table, id);
    if (!job)
        http_json_error(answer, 404, "there is no job %s", id);
    return job;
}

static void answer_in_full(const struct http_service *service, const struct http_exchange *exchange,
                           const struct rendezvous_job *job, bool output,
                           struct http_answer *answer)
{
    http_json_answer(answer, 200,
                     status_json_job_in_full(job, output, service->epoch_ms, exchange->now_ms));
}

static bool word_is(struct http_text word, const char *text)
{
    return word.length == strlen(text) && memcmp(word.data, text, word.length) == 0;
}

/* One word of the query. Each word may occur once, and "ask" and "wait" exclude each other. */
static bool read_word(struct job_query *query, struct http_text word)
{
    bool held = query->ask || query->wait;
    if (word_is(word, "output") && !query->output)
        return query->output = true;
    if (word_is(word, "ask") && !held)
        return query->ask = true;
    return !held && (query->wait = http_seconds_wait(word, &query->wait_ms));
}

static bool read_query(struct job_query *query, struct http_text text)
{
    *query = (struct job_query){ 0 };
    if (!text.data)
        return true;
    const char *at = text.data, *end = text.data + text.length;
    for (;;) {
        const char *mark = memchr(at, '&', (size_t)(end - at));
        const char *stop = mark ? mark : end;
        if (!read_word(query, (struct http_text){ at, (size_t)(stop - at) }))
            return false;
        if (!mark)
            return true;
        at = mark + 1;
    }
}

/* Returns false while the request must wait: the ranks have been asked, and some have not
 * answered. */
static bool http_jobs_ask(struct http_service *service, struct http_exchange *exchange,
                          struct rendezvous_job *job)
{
    bool first = exchange->held_until_ms == 0;
    if (exchange->last || !job->ranks)
        return true;
    if (first && service->workers->ask(service, job, exchange->now_ms) < 0)
        return true; /* the answer has what was known before */
    if (!rank_query_is_open(&job->rank_query))
        return true;
    if (first)
        exchange->held_until_ms = exchange->now_ms + ASK_MS;
    waiter_join(exchange->waiter, &job->watchers);
    return false;
}

static bool http_jobs_has_room(const struct wait_list *list)
{
    const struct waiter *at;
    int count = 0;
    TAILQ_FOREACH(at, list, link)
    count++;
    return count < ONLOOKERS_MAX;
}

/* Returns false while the request must wait for the end of the job. A request that is woken is
 * always answered, because its carrier may close the connection soon (struct rendezvous_stream). */
static bool wait_for_end(struct http_exchange *exchange, struct rendezvous_job *job,
                         uint64_t wait_ms)
{
    bool over = job->ended_ms != 0 || (job->launch && job->launch->verdict_text);
    if (over || exchange->held_until_ms != 0 || wait_ms == 0 ||
        !http_jobs_has_room(&job->onlookers))
        return true;
    exchange->held_until_ms = exchange->now_ms + wait_ms;
    waiter_join(exchange->waiter, &job->onlookers);
    return false;
}

bool http_job(struct http_service *service, struct http_exchange *exchange,
              struct http_answer *answer)
{
    struct job_query query;
    if (!read_query(&query, exchange->path.query)) {
        http_json_error(answer, 400,
                        "the query: expected ?ask or ?" HTTP_WAIT_EXPECTED
                        ", ?output, both with & between, or none");
        return true;
    }
    struct rendezvous_job *job = http_jobs_find(service, exchange, answer);
    if (!job)
        return true;
    if (query.ask && !http_jobs_ask(service, exchange, job))
        return false;
    if (query.wait && !wait_for_end(exchange, job, query.wait_ms))
        return false;
    answer_in_full(service, exchange, job, query.output, answer);
    return true;
}

/* A declaration cannot change an existing job; fills in the answer if it would. */
static bool is_as_declared(const struct rendezvous_job *job,
                           const struct job_declaration *declaration, struct http_answer *answer)
{
    const struct elastic_service *elastic = &job->elastic_service;
    int size = rank_states_size(job);
    if (job->elastic && (elastic->min != declaration->min || elastic->max != declaration->max))
        http_json_error(answer, 409, "job %s is elastic, with %d to %d ranks", job->id,
                        elastic->min, elastic->max);
    else if (!job->elastic && size != declaration->size)
        http_json_error(answer, 409, "job %s has size %d", job->id, size);
    else
        return true;
    return false;
}

/* Returns the declared job, which may have existed before; or NULL and the answer. */
static struct rendezvous_job *declare(struct http_service *service, const char *id,
                                      const struct job_declaration *declaration, uint64_t now_ms,
                                      struct http_answer *answer)
{
    struct err err = { 0 };
    struct rendezvous_job *job = job_table_find(service->job_table, id);
    if (job && !rendezvous_job_is_over(job)) {
        if (!is_as_declared(job, declaration, answer))
            return NULL;
        rendezvous_job_declared(job, now_ms);
        return job;
    }
    uint64_t timeout_ms = declaration->start_timeout_ms;
    job = declaration->size > 0
              ? job_table_make(service->job_table, id, declaration->size, timeout_ms, now_ms, &err)
              : job_table_make_elastic(service->job_table, id, declaration->min, declaration->max,
                                       timeout_ms, now_ms, &err);
    if (!job)
        http_json_error(answer, err.code == HVD_ERR_NOMEM ? 500 : 507, "%s", err.text);
    return job;
}

bool http_job_put(struct http_service *service, struct http_exchange *exchange,
                  struct http_answer *answer)
{
    char id[JOB_ID_SIZE];
    struct err err = { 0 };
    struct job_declaration declaration;
    if (has_query(exchange, answer) || !named(service, exchange, id, answer))
        return true;
    if (service->job_table->only)
        http_json_error(answer, 409, "this rendezvous is for the one job of a launcher");
    else if (job_declaration_parse(&declaration, exchange->body, exchange->length, &err) < 0)
        http_json_error(answer, 400, "%s", err.text);
    else {
        struct rendezvous_job *job = declare(service, id, &declaration, exchange->now_ms, answer);
        if (job)
            answer_in_full(service, exchange, job, false, answer);
    }
    return true;
}

bool http_job_delete(struct http_service *service, struct http_exchange *exchange,
                     struct http_answer *answer)
{
    struct rendezvous_job *job =
        has_query(exchange, answer) ? NULL : http_jobs_find(service, exchange, answer);
    if (!job)
        return true;
    if (job->planned) {
        http_json_error(answer, 409, "the job of a launcher ends with the launcher");
        return true;
    }
    struct json_build build;
    json_build_init(&build);
    json_string(&build, build.root, "ended", job->id);
    if (!rendezvous_job_is_over(job))
        service->workers->end(service, job, "the job was ended (DELETE /v1/jobs)",
                              exchange->now_ms);
    http_json_answer(answer, 200, json_build_finish(&build));
    return true;
}
