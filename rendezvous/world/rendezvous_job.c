/* SPDX-License-Identifier: Apache-2.0 */
/* One job; see rendezvous_job.h. */
#include "rendezvous/world/rendezvous_job.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/world/gloo_scopes.h"
#include "rendezvous/world/rendezvous_job_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rendezvous_job *rendezvous_job_allocate(const char *id, int size, uint64_t now_ms,
                                                      struct err *err)
{
    struct rendezvous_job *job = calloc(1, sizeof *job);
    if (job)
        job->store = key_value_create();
    if (!job || !job->store) {
        fail(err, HVD_ERR_NOMEM, "out of memory for job %s", id);
        free(job);
        return NULL;
    }
    snprintf(job->id, sizeof job->id, "%s", id);
    job->size = size;
    job->since_ms = now_ms;
    TAILQ_INIT(&job->watchers);
    TAILQ_INIT(&job->onlookers);
    TAILQ_INIT(&job->comers);
    return job;
}

int rendezvous_job_membership(struct membership *membership, struct rendezvous_job_rank **ranks,
                              const struct rendezvous_slot *slots, int size,
                              uint64_t start_timeout_ms, struct err *err)
{
    *ranks = calloc((size_t)size, sizeof **ranks);
    int rc = *ranks ? membership_init(membership, slots, size, start_timeout_ms, err)
                    : fail(err, HVD_ERR_NOMEM, "out of memory for %d ranks", size);
    if (rc < 0)
        free(*ranks);
    for (int rank = 0; rc == HVD_OK && rank < size; rank++)
        (*ranks)[rank].worker = rank;
    return rc;
}

/* The places are known from now on. Nothing has to be undone when it fails. */
static int rendezvous_job_place(struct rendezvous_job *job, struct rendezvous_slot *slots,
                                uint64_t start_timeout_ms, struct err *err)
{
    struct rendezvous_job_rank *ranks;
    int rc = rendezvous_job_membership(&job->membership, &ranks, slots, job->size, start_timeout_ms,
                                       err);
    if (rc < 0)
        return rc;
    job->membership.epoch = job->first_epoch;
    job->slots = slots;
    job->ranks = ranks;
    return HVD_OK;
}

static int rendezvous_job_be_elastic(struct rendezvous_job *job, struct err *err)
{
    job->elastic = calloc(1, sizeof *job->elastic);
    if (!job->elastic)
        return fail(err, HVD_ERR_NOMEM, "out of memory for job %s", job->id);
    elastic_init(job->elastic);
    return HVD_OK;
}

static struct rendezvous_job *create_planned_elastic(struct rendezvous_job *job,
                                                     const struct rendezvous_options *options,
                                                     struct err *err)
{
    job->planned = true;
    job->launch = launcher_view_create(options);
    if (job->launch && rendezvous_job_be_elastic(job, err) == HVD_OK)
        return job;
    fail(err, HVD_ERR_NOMEM, "out of memory for job %s", options->id);
    rendezvous_job_destroy(job);
    return NULL;
}

struct rendezvous_job *rendezvous_job_create_planned(const struct rendezvous_options *options,
                                                     uint64_t now_ms, struct err *err)
{
    int size = options->size;
    struct rendezvous_job *job = rendezvous_job_allocate(options->id, size, now_ms, err);
    if (!job)
        return NULL;
    if (options->elastic)
        return create_planned_elastic(job, options, err);
    struct rendezvous_slot *own = calloc((size_t)size, sizeof *own);
    if (own)
        memcpy(own, options->slots, (size_t)size * sizeof *own);
    job->planned = true;
    job->launch = launcher_view_create(options);
    int rc = own && job->launch ? rendezvous_job_place(job, own, options->start_timeout_ms, err)
                                : fail(err, HVD_ERR_NOMEM, "out of memory for %d slots", size);
    if (rc == HVD_OK && gloo_scopes_plan(job->store, options->slots, size) < 0)
        rc = fail(err, HVD_ERR_NOMEM, "out of memory for the scopes of %d ranks", size);
    if (rc == HVD_OK)
        return job;
    if (!job->slots)
        free(own);
    rendezvous_job_destroy(job);
    return NULL;
}

struct rendezvous_job *rendezvous_job_create(const char *id, int size, uint64_t start_timeout_ms,
                                             uint64_t now_ms, struct err *err)
{
    struct rendezvous_job *job = rendezvous_job_allocate(id, size, now_ms, err);
    if (!job)
        return NULL;
    pending_workers_init(&job->pending, job->id, size, start_timeout_ms);
    rendezvous_job_declared(job, now_ms);
    return job;
}

struct rendezvous_job *rendezvous_job_create_elastic(const char *id,
                                                     const struct elastic_service *service,
                                                     uint64_t now_ms, struct err *err)
{
    struct rendezvous_job *job =
        rendezvous_job_create(id, 0, service->start_timeout_ms, now_ms, err);
    if (!job)
        return NULL;
    job->elastic_service = *service;
    job->decide_ms = MEMBERSHIP_NEVER;
    if (rendezvous_job_be_elastic(job, err) == HVD_OK)
        return job;
    rendezvous_job_destroy(job);
    return NULL;
}

static bool is_empty(const struct rendezvous_job *job)
{
    return !job->slots && job->first_ms == 0 && job->pending.state == PENDING_WORKERS_OPEN &&
           job->pending.count == 0;
}

static uint64_t lapse_after_ms(const struct rendezvous_job *job)
{
    uint64_t times_ms = RENDEZVOUS_JOB_LAPSE_TIMES * job->pending.start_timeout_ms;
    return times_ms > RENDEZVOUS_JOB_LAPSE_MS ? times_ms : RENDEZVOUS_JOB_LAPSE_MS;
}

void rendezvous_job_declared(struct rendezvous_job *job, uint64_t now_ms)
{
    job->lapse_ms = now_ms + lapse_after_ms(job);
}

void rendezvous_job_lapse(struct rendezvous_job *job, uint64_t now_ms)
{
    char why[64];
    if (!is_empty(job) || now_ms < job->lapse_ms)
        return;
    snprintf(why, sizeof why, "no worker has come within %llu s",
             (unsigned long long)lapse_after_ms(job) / 1000);
    pending_workers_end(&job->pending, why);
}

static void send_home(struct wait_list *list)
{
    struct waiter *waiter;
    while ((waiter = TAILQ_FIRST(list)))
        waiter_leave(waiter);
}

void rendezvous_job_ranks_free(struct rendezvous_job_rank *ranks, int size)
{
    for (int rank = 0; ranks && rank < size; rank++) {
        free(ranks[rank].report);
        wire_writer_fini(&ranks[rank].said);
    }
    free(ranks);
}

void rendezvous_job_forget_world(struct rendezvous_job *job)
{
    if (job->slots)
        membership_fini(&job->membership);
    rendezvous_job_ranks_free(job->ranks, job->size);
    job->ranks = NULL;
    job->told_origin = false;
}

void rendezvous_job_destroy(struct rendezvous_job *job)
{
    if (!job)
        return;
    job_key_wipe(&job->key);
    send_home(&job->watchers);
    send_home(&job->onlookers);
    send_home(&job->comers);
    launcher_view_destroy(job->launch);
    rank_query_fini(&job->rank_query);
    rendezvous_next_destroy(job->next);
    rendezvous_job_forget_world(job);
    if (job->elastic)
        elastic_fini(job->elastic);
    free(job->elastic);
    if (!job->planned)
        pending_workers_fini(&job->pending);
    key_value_destroy(job->store);
    free(job->slots);
    free(job->slot_hosts);
    free(job);
}

static int join_pending_worker(struct rendezvous_job *job, const struct pending_worker *worker,
                               uint64_t now_ms, struct err *err)
{
    struct join_hello hello = { .rank = worker->rank,
                                .size = job->size,
                                .pid = worker->pid,
                                .processors = worker->processors };
    hello.addresses = worker->addresses;
    memcpy(hello.key, worker->key, sizeof hello.key);
    snprintf(hello.host, sizeof hello.host, "%s", worker->host);
    job->ranks[worker->rank] = (struct rendezvous_job_rank){ .worker = worker->rank,
                                                             .connection = worker->owner,
                                                             .pid = worker->pid,
                                                             .joined = true,
                                                             .joined_ms = worker->came_ms,
                                                             .heard_ms = worker->came_ms };
    return membership_join(&job->membership, &hello, now_ms, err);
}

int rendezvous_job_assign(struct rendezvous_job *job, uint64_t now_ms, struct err *err)
{
    struct pending_workers *pending = &job->pending;
    job->size = pending->size;
    struct rendezvous_slot *slots = calloc((size_t)job->size, sizeof *slots);
    int rc = slots ? pending_workers_assign(pending, slots, err)
                   : fail(err, HVD_ERR_NOMEM, "out of memory for %d ranks", job->size);
    if (rc == HVD_OK)
        rc = rendezvous_job_place(job, slots, pending->start_timeout_ms, err);
    if (rc < 0) {
        free(slots);
        return rc;
    }
    for (int i = 0; i < pending->count && rc == HVD_OK; i++)
        rc = join_pending_worker(job, &pending->workers[i], now_ms, err);
    return rc;
}

int rendezvous_job_expects(const struct rendezvous_job *job)
{
    if (job->elastic)
        return job->elastic->nmembers > job->elastic->waiting
                   ? job->elastic->nmembers - job->elastic->waiting
                   : 0;
    if (job->next && job->next->membership.world == WORLD_GATHERING)
        return job->size - job->next->membership.joined;
    if (job->slots)
        return job->membership.world == WORLD_GATHERING ? job->size - job->membership.joined : 0;
    return job->pending.state == PENDING_WORKERS_OPEN ? job->pending.size - job->pending.count : 0;
}

void rendezvous_job_saw_gloo(struct rendezvous_job *job, int rank)
{
    if (job->slots && rank >= 0 && rank < job->size)
        membership_elsewhere(&job->membership, rank);
}

void rendezvous_job_heard(struct rendezvous_job *job, int rank, const struct join_report *report,
                          uint64_t now_ms)
{
    struct rendezvous_job_rank *at = &job->ranks[rank];
    size_t size = (size_t)rank_query_text_size(job->size);
    at->heard_ms = now_ms;
    at->silent = false;
    free(at->report);
    at->report = strndup(report->text, size - 1); /* without memory: not known */
    wire_writer_fini(&at->said);
    rank_stats_encode(&at->said, &report->stats); /* likewise */
    rank_waits_encode(&at->said, &report->waits);
}

static bool read_said(const struct rendezvous_job *job, int rank, struct rank_stats *stats,
                      struct rank_waits *waits)
{
    const struct wire_writer *said = &job->ranks[rank].said;
    struct wire_reader reader;
    if (said->failed || said->length == 0)
        return false;
    wire_reader_init(&reader, said->data, said->length);
    rank_stats_decode(stats, &reader);
    rank_waits_decode(waits, &reader);
    return true;
}

bool rendezvous_job_rank_stats(const struct rendezvous_job *job, int rank, struct rank_stats *stats)
{
    struct rank_waits waits;
    return read_said(job, rank, stats, &waits);
}

bool rendezvous_job_rank_waits(const struct rendezvous_job *job, int rank, struct rank_waits *waits)
{
    struct rank_stats stats;
    return read_said(job, rank, &stats, waits);
}

/* A world that breaks does not end the job. */
static enum rendezvous_job_state state_of_elastic(const struct rendezvous_job *job)
{
    bool broken = job->slots && job->membership.world == WORLD_BROKEN;
    if (job->pending.state == PENDING_WORKERS_BROKEN || (job->lapsed && broken))
        return RENDEZVOUS_JOB_FAILED;
    if (job->lapsed)
        return RENDEZVOUS_JOB_ENDED;
    return job->slots && !broken ? RENDEZVOUS_JOB_RUNNING : RENDEZVOUS_JOB_GATHERING;
}

enum rendezvous_job_state rendezvous_job_state(const struct rendezvous_job *job)
{
    static const enum rendezvous_job_state of_world[] = { [WORLD_GATHERING] =
                                                              RENDEZVOUS_JOB_GATHERING,
                                                          [WORLD_COMPLETE] = RENDEZVOUS_JOB_RUNNING,
                                                          [WORLD_BROKEN] = RENDEZVOUS_JOB_FAILED };
    if (job->launch && job->launch->verdict_text)
        return job->launch->verdict.exit_status == 0 ? RENDEZVOUS_JOB_ENDED : RENDEZVOUS_JOB_FAILED;
    if (job->elastic)
        return state_of_elastic(job);
    if (!job->slots)
        return job->pending.state == PENDING_WORKERS_BROKEN ? RENDEZVOUS_JOB_FAILED
                                                            : RENDEZVOUS_JOB_GATHERING;
    if (job->next && job->next->membership.world == WORLD_BROKEN)
        return RENDEZVOUS_JOB_FAILED;
    enum rendezvous_job_state state = of_world[job->membership.world];
    bool gone =
        job->connected == 0 && job->membership.in_grace == 0 && job->membership.elsewhere == 0;
    return state == RENDEZVOUS_JOB_RUNNING && gone ? RENDEZVOUS_JOB_ENDED : state;
}

static bool has_ended(const struct rendezvous_job *job)
{
    enum rendezvous_job_state state = rendezvous_job_state(job);
    return state == RENDEZVOUS_JOB_ENDED || state == RENDEZVOUS_JOB_FAILED;
}

uint64_t rendezvous_job_deadline(const struct rendezvous_job *job)
{
    uint64_t deadline_ms = rank_query_deadline(&job->rank_query);
    if (job->slots)
        deadline_ms = deadline_earlier(deadline_ms, membership_deadline(&job->membership));
    if (job->next)
        deadline_ms = deadline_earlier(deadline_ms, membership_deadline(&job->next->membership));
    if (job->elastic && !job->planned && !is_empty(job) && !has_ended(job))
        deadline_ms = deadline_earlier(deadline_ms, job->decide_ms);
    if (job->slots || job->planned)
        return deadline_ms;
    if (is_empty(job))
        return deadline_earlier(deadline_ms, job->lapse_ms);
    return job->pending.state == PENDING_WORKERS_OPEN
               ? deadline_earlier(deadline_ms, job->pending.deadline_ms)
               : deadline_ms;
}

const char *rendezvous_job_state_name(enum rendezvous_job_state state)
{
    static const char *const names[] = { [RENDEZVOUS_JOB_GATHERING] = "gathering",
                                         [RENDEZVOUS_JOB_RUNNING] = "running",
                                         [RENDEZVOUS_JOB_ENDED] = "ended",
                                         [RENDEZVOUS_JOB_FAILED] = "failed" };
    return names[state];
}

const char *rendezvous_job_cause(const struct rendezvous_job *job,
                                 char text[RENDEZVOUS_JOB_CAUSE_SIZE])
{
    const struct membership *membership = job->next && job->membership.world != WORLD_BROKEN
                                              ? &job->next->membership
                                              : &job->membership;
    text[0] = '\0';
    if (rendezvous_job_state(job) != RENDEZVOUS_JOB_FAILED)
        return text;
    if (!job->slots || (!job->planned && job->pending.state == PENDING_WORKERS_BROKEN))
        snprintf(text, RENDEZVOUS_JOB_CAUSE_SIZE, "%s", job->pending.cause.text);
    else if (membership->world != WORLD_BROKEN) /* the verdict is all that is known */
        snprintf(text, RENDEZVOUS_JOB_CAUSE_SIZE, "%s", job->launch->verdict_text);
    else
        rank_end_text(text, RENDEZVOUS_JOB_CAUSE_SIZE,
                      membership->origin.status != HVD_OK ? &membership->origin
                                                          : &membership->cause);
    return text;
}

bool rendezvous_job_is_over(const struct rendezvous_job *job)
{
    return !job->planned && job->connected == 0 && has_ended(job);
}

void rendezvous_job_close(struct rendezvous_job *job, struct wait_list *woken, uint64_t now_ms)
{
    job->ended_ms = now_ms;
    wait_list_wake(&job->watchers, woken);
    wait_list_wake(&job->onlookers, woken);
    wait_list_wake(&job->comers, woken);
    if (job->store)
        key_value_wake_all(job->store, woken);
    key_value_destroy(job->store);
    job->store = NULL;
}
