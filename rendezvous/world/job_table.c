/* SPDX-License-Identifier: Apache-2.0 */
/* The list of jobs; see job_table.h. */
#include "rendezvous/world/job_table.h"

#include <string.h>

void job_table_init(struct job_table *job_table, int max, uint64_t start_timeout_ms)
{
    *job_table = (struct job_table){ .max = max, .start_timeout_ms = start_timeout_ms };
    TAILQ_INIT(&job_table->list);
}

static void job_table_add(struct job_table *job_table, struct rendezvous_job *job)
{
    TAILQ_INSERT_TAIL(&job_table->list, job, link);
    job_table->count++;
}

void job_table_add_planned(struct job_table *job_table, struct rendezvous_job *planned)
{
    job_table->only = planned;
    job_table_add(job_table, planned);
}

static void job_table_forget(struct job_table *job_table, struct rendezvous_job *job)
{
    TAILQ_REMOVE(&job_table->list, job, link);
    job_table->count--;
    rendezvous_job_destroy(job);
}

void job_table_fini(struct job_table *job_table)
{
    while (!TAILQ_EMPTY(&job_table->list))
        job_table_forget(job_table, TAILQ_FIRST(&job_table->list));
}

struct rendezvous_job *job_table_find(const struct job_table *job_table, const char *id)
{
    struct rendezvous_job *at;
    if (!*id)
        return job_table->only;
    TAILQ_FOREACH(at, &job_table->list, link)
    if (strcmp(at->id, id) == 0)
        return at;
    return NULL;
}

static void forget_over(struct job_table *job_table, int keep)
{
    int over = 0;
    struct rendezvous_job *at, *next;
    TAILQ_FOREACH(at, &job_table->list, link)
    over += rendezvous_job_is_over(at);
    for (at = TAILQ_FIRST(&job_table->list); at && over > keep; at = next) {
        next = TAILQ_NEXT(at, link);
        if (!rendezvous_job_is_over(at))
            continue;
        job_table_forget(job_table, at);
        over--;
    }
}

void job_table_trim(struct job_table *job_table)
{
    if (!job_table->only)
        forget_over(job_table, JOB_TABLE_OVER_MAX);
}

static int job_table_make_room(struct job_table *job_table, const char *id, struct err *err)
{
    struct rendezvous_job *same = job_table_find(job_table, id);
    if (same && rendezvous_job_is_over(same))
        job_table_forget(job_table, same);
    if (job_table->count >= job_table->max)
        forget_over(job_table, 0);
    if (job_table->count < job_table->max)
        return HVD_OK;
    return fail(err, HVD_ERR_INVALID, "this rendezvous has %d job%s already, as many as it may",
                job_table->count, job_table->count == 1 ? "" : "s");
}

/* NULL if the job could not be made. */
static struct rendezvous_job *job_table_take(struct job_table *job_table,
                                             struct rendezvous_job *job)
{
    if (!job)
        return NULL;
    key_value_share(job->store, &job_table->values);
    job_table_add(job_table, job);
    return job;
}

struct rendezvous_job *job_table_make(struct job_table *job_table, const char *id, int size,
                                      uint64_t start_timeout_ms, uint64_t now_ms, struct err *err)
{
    uint64_t timeout_ms = start_timeout_ms ? start_timeout_ms : job_table->start_timeout_ms;
    if (job_table_make_room(job_table, id, err) < 0)
        return NULL;
    return job_table_take(job_table, rendezvous_job_create(id, size, timeout_ms, now_ms, err));
}

struct rendezvous_job *job_table_make_elastic(struct job_table *job_table, const char *id, int min,
                                              int max, uint64_t start_timeout_ms, uint64_t now_ms,
                                              struct err *err)
{
    struct elastic_service service = { min, max,
                                       start_timeout_ms ? start_timeout_ms
                                                        : job_table->start_timeout_ms };
    if (job_table_make_room(job_table, id, err) < 0)
        return NULL;
    return job_table_take(job_table, rendezvous_job_create_elastic(id, &service, now_ms, err));
}
