/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a job when a worker sends a message or ends, or when time passes: pending workers and
 * membership decide, and this file carries out their decisions on the workers' connections. A
 * worker counts as disconnected if memory for a message to it runs out. */
#include "rendezvous/server/server_impl.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/world/membership_text.h"
#include "rendezvous/world/pending_workers_text.h"

#include <stdarg.h>
#include <stdio.h>

/* To the people of a service. */
static void __attribute__((format(printf, 3, 4)))
server_job_say(struct server *server, const char *job, const char *format, ...)
{
    char text[JOIN_TEXT_MAX];
    va_list args;
    if (!server->say || server->closed)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    server->say(server->context, job, text);
}

static void server_job_refuse(struct rendezvous_connection *connection, int status,
                              const char *text)
{
    struct wire_writer out = { 0 };
    join_session_refuse(&connection->join, &out, status, text);
    server_flush(connection, &out);
    server_end(connection);
}

static void put_message(const struct rendezvous_job *job, const struct membership_action *action,
                        struct join_session *session, struct wire_writer *out)
{
    struct join_welcome welcome;
    if (action->act == MEMBERSHIP_WELCOME) {
        membership_welcome(&job->membership, action->rank, &welcome);
        join_session_welcome(session, out, &welcome);
    } else if (action->act == MEMBERSHIP_REFUSE) {
        struct err err;
        rank_end_fail(&err, action->cause);
        join_session_refuse(session, out, err.code, err.text);
    } else {
        join_session_news(session, out, action->cause);
    }
}

static void tell_rank(struct server *server, struct rendezvous_job *job,
                      const struct membership_action *action)
{
    struct rendezvous_connection *connection = job->ranks[action->rank].connection;
    if (!connection)
        return;
    struct wire_writer out = { 0 };
    put_message(job, action, &connection->join, &out);
    bool told = server_flush(connection, &out);
    if (!told || action->act == MEMBERSHIP_REFUSE)
        server_end(connection);
    if (!told)
        membership_broke(&job->membership, action->rank, server->now_ms);
}

static void on_complete(struct server *server, struct rendezvous_job *job)
{
    metrics_joined(&server->metrics, server->now_ms - job->first_ms);
    if (server->events.complete)
        server->events.complete(server->context);
    server_job_say(server, job->id, "all %d workers have come", job->size);
}

/* Nobody is left of a service's job. */
static void check_over(struct server *server, struct rendezvous_job *job)
{
    if (!rendezvous_job_is_over(job) || !job->store)
        return;
    char cause[RENDEZVOUS_JOB_CAUSE_SIZE];
    server_job_say(
        server, job->id,
        *rendezvous_job_cause(job, cause) ? "failed: %s" : "ended: all workers have left%s", cause);
    rendezvous_job_close(job, &server->service.woken, server->now_ms);
    server->trim = true;
}

/* To the launcher, once. */
static void tell_origin(struct server *server, struct rendezvous_job *job)
{
    const struct rank_end *origin = &job->membership.origin;
    if (job->told_origin || origin->status == HVD_OK || server->closed)
        return;
    job->told_origin = true;
    if (server->events.origin)
        server->events.origin(server->context, origin);
}

/* Does what the last event has made necessary; the launcher's callbacks may cause further events
 * meanwhile, and server_close(). */
static void carry_out(struct server *server, struct rendezvous_job *job)
{
    struct membership_action action;
    while (job->slots && !server->closed && membership_next(&job->membership, &action)) {
        if (action.act == MEMBERSHIP_COMPLETE)
            on_complete(server, job);
        else if (action.act == MEMBERSHIP_TIMED_OUT && server->events.timed_out)
            server->events.timed_out(server->context, action.cause->words);
        else if (action.act != MEMBERSHIP_TIMED_OUT)
            tell_rank(server, job, &action);
    }
    if (job->slots)
        tell_origin(server, job);
    server_due(server, rendezvous_job_deadline(job));
    check_over(server, job);
}

/* Not all workers will come: those that wait are told why. */
static void clear_pending_workers(struct server *server, struct rendezvous_job *job)
{
    struct pending_workers *pending = &job->pending;
    for (int i = 0; i < pending->count && !server->closed; i++) {
        struct rendezvous_connection *connection = pending->workers[i].owner;
        if (connection)
            server_job_refuse(connection, pending->cause.code, pending->cause.text);
    }
    check_over(server, job);
}

static void assign_ranks(struct server *server, struct rendezvous_job *job)
{
    struct err err;
    if (rendezvous_job_assign(job, server->now_ms, &err) < 0) {
        pending_workers_end(&job->pending, err.text);
        clear_pending_workers(server, job);
        return;
    }
    for (int rank = 0; rank < job->size; rank++) {
        job->ranks[rank].connection->rank = rank;
        job->ranks[rank].connection->pending_worker = -1;
    }
    carry_out(server, job);
}

/* It can tell then that we have fallen silent, and what it waited for. One that cannot be told has
 * disconnected. */
static void tell_to_wait(struct rendezvous_connection *connection, uint64_t until_ms,
                         struct join_waiting *waiting)
{
    struct wire_writer out = { 0 };
    uint64_t now_ms = connection->server->now_ms,
             most_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    waiting->most_ms = most_ms < JOIN_WAITING_MAX_MS ? (uint32_t)most_ms : JOIN_WAITING_MAX_MS;
    join_session_wait(&connection->join, &out, waiting);
    if (!server_flush(connection, &out))
        server_send_away(connection);
}

static void tell_member_to_wait(struct rendezvous_connection *connection,
                                const struct membership *membership)
{
    struct join_waiting waiting;
    if (membership->world != WORLD_GATHERING)
        return;
    membership_text_awaited(waiting.text, membership);
    tell_to_wait(connection, membership->start_deadline_ms, &waiting);
}

static void tell_pending_worker_to_wait(struct rendezvous_connection *connection,
                                        const struct pending_workers *pending)
{
    struct join_waiting waiting;
    pending_workers_text_awaited(waiting.text, pending);
    tell_to_wait(connection, pending->deadline_ms, &waiting);
}

/* From now on it is a worker of the job's. */
static void take_in(struct rendezvous_connection *connection, struct rendezvous_job *job)
{
    server_set_role(connection, SERVER_WORKER);
    connection->job = job;
    if (job->connected++ == 0 && job->first_ms == 0)
        job->first_ms = connection->server->now_ms;
}

static int join_planned(struct rendezvous_connection *connection, struct rendezvous_job *job,
                        const struct join_hello *hello, struct err *err)
{
    uint64_t now_ms = connection->server->now_ms;
    int rc = membership_join(&job->membership, hello, now_ms, err);
    if (rc < 0)
        return rc;
    take_in(connection, job);
    connection->rank = hello->rank;
    struct rendezvous_job_rank *rank = &job->ranks[hello->rank];
    rank->connection = connection;
    rank->pid = hello->pid;
    rank->joined = true;
    rank->joined_ms = rank->heard_ms = now_ms;
    struct server *server = connection->server;
    tell_member_to_wait(connection, &job->membership);
    carry_out(server, job);
    return HVD_OK;
}

static int join_pending_workers(struct rendezvous_connection *connection,
                                struct rendezvous_job *job, const struct join_hello *hello,
                                struct err *err)
{
    struct server *server = connection->server;
    if (job->slots && job->membership.world == WORLD_BROKEN)
        return rank_end_fail(err, &job->membership.cause);
    int rc = pending_workers_join(&job->pending, hello, connection, server->now_ms,
                                  &connection->pending_worker, err);
    if (rc < 0)
        return rc;
    take_in(connection, job);
    if (job->pending.count == 1)
        server_job_say(server, job->id, "a worker on %s is the first of %d",
                       job->pending.workers[0].host, job->pending.size);
    if (job->pending.state == PENDING_WORKERS_FULL) {
        assign_ranks(server, job);
        return HVD_OK;
    }
    server_due(server, rendezvous_job_deadline(job));
    tell_pending_worker_to_wait(connection, &job->pending);
    return HVD_OK;
}

/* The job that the worker has proved to belong to; made, if it is a service's and not there yet. */
static struct rendezvous_job *find_job(struct server *server, const char *id, struct err *err)
{
    struct rendezvous_job *job = job_table_find(&server->job_table, id);
    if (job && !rendezvous_job_is_over(job))
        return job;
    if (!server->keyring.service || !*id) {
        fail(err, HVD_ERR_ENVIRONMENT, "HVD_JOB_ID: there is no job '%s' here", id);
        return NULL;
    }
    return job_table_make(&server->job_table, id, 0, 0, server->now_ms, err);
}

void server_on_hello(struct rendezvous_connection *connection, const struct join_hello *hello)
{
    struct err err = { 0 };
    struct rendezvous_job *job = find_job(connection->server, connection->join.job, &err);
    if (job && connection->server->events.met && hello->rank >= 0 && hello->rank < job->size)
        connection->server->events.met(connection->server->context, hello->rank);
    int rc = !job           ? err.code
             : job->planned ? join_planned(connection, job, hello, &err)
                            : join_pending_workers(connection, job, hello, &err);
    if (rc == HVD_OK)
        return;
    connection->server->metrics.refused_workers++;
    server_job_say(connection->server, connection->join.job, "refused a worker on %s (pid %d): %s",
                   hello->host, hello->pid, err.text);
    server_job_refuse(connection, rc, err.text);
}

void server_on_report(struct rendezvous_connection *connection, const struct join_report *report)
{
    struct rendezvous_job *job = connection->job;
    rendezvous_job_heard(job, connection->rank, report, connection->server->now_ms);
    rank_query_answer(&job->rank_query, connection->rank, report->waits.for_whom, report->text);
}

void server_worker_gone(struct rendezvous_connection *connection)
{
    struct rendezvous_job *job = connection->job;
    job->connected--;
    if (connection->rank >= 0)
        job->ranks[connection->rank].connection = NULL;
    else
        job->pending.workers[connection->pending_worker].owner = NULL;
    connection->job = NULL;
}

static void pending_worker_lost(struct server *server, struct rendezvous_job *job,
                                int pending_worker, bool said_goodbye)
{
    if (job->pending.state != PENDING_WORKERS_OPEN)
        return;
    pending_workers_leave(&job->pending, pending_worker, said_goodbye);
    clear_pending_workers(server, job);
}

/* Only who is in a world has one that can break. */
void server_on_word(struct rendezvous_connection *connection, const struct rank_end *word)
{
    struct server *server = connection->server;
    struct rendezvous_job *job = connection->job;
    int rank = connection->rank;
    if (rank < 0 || !membership_was_complete(&job->membership)) {
        server_send_away(connection);
        return;
    }
    if (server->events.left)
        server->events.left(server->context, rank, word);
    membership_word(&job->membership, rank, word);
    carry_out(server, job);
}

void server_on_goodbye(struct rendezvous_connection *connection, const struct rank_end *goodbye)
{
    struct server *server = connection->server;
    struct rendezvous_job *job = connection->job;
    int rank = connection->rank, pending_worker = connection->pending_worker;
    server_end(connection);
    if (rank < 0) {
        pending_worker_lost(server, job, pending_worker, true);
        return;
    }
    if (goodbye->status != HVD_OK && server->events.left)
        server->events.left(server->context, rank, goodbye);
    membership_goodbye(&job->membership, rank, goodbye);
    carry_out(server, job);
}

void server_on_broken(struct server *server, struct rendezvous_job *job, int rank,
                      int pending_worker)
{
    if (rank < 0) {
        pending_worker_lost(server, job, pending_worker, false);
        return;
    }
    membership_broke(&job->membership, rank, server->now_ms);
    if (job->membership.members[rank].state == MEMBER_BROKEN && server->events.disconnected)
        server->events.disconnected(server->context, rank);
    carry_out(server, job);
}

/* A worker of Horovod's own gives up without saying for whom it has waited. */
static void tell_missing(struct server *server, struct rendezvous_job *job)
{
    char text[JOIN_TEXT_MAX];
    if (membership_text_missing(text, &job->membership, false) && server->events.missing)
        server->events.missing(server->context, text);
}

void server_rank_started(struct server *server, int rank, int pid)
{
    server->job_table.only->ranks[rank].pid = pid;
}

void server_rank_ended(struct server *server, int rank, const struct rank_end_how *how,
                       uint64_t now_ms)
{
    struct rendezvous_job *job = server->job_table.only;
    server_enter(server, now_ms);
    bool met_elsewhere = job->membership.members[rank].state == MEMBER_ELSEWHERE;
    bool gathering = job->membership.world == WORLD_GATHERING;
    membership_ended(&job->membership, rank, how, now_ms);
    if (met_elsewhere && gathering && job->membership.world == WORLD_BROKEN)
        tell_missing(server, job);
    carry_out(server, job);
    server_leave(server);
}

void server_tell_end(struct server *server, int rank, const struct rendezvous_end *end,
                     uint64_t now_ms)
{
    struct rendezvous_job *job = server->job_table.only;
    server_enter(server, now_ms);
    if (launcher_view_end(job->launch, rank, end))
        server_wake_brief(server, &job->onlookers);
    server_leave(server);
}

void server_tell_verdict(struct server *server, const struct rendezvous_verdict *verdict,
                         uint64_t now_ms)
{
    struct rendezvous_job *job = server->job_table.only;
    server_enter(server, now_ms);
    launcher_view_verdict(job->launch, verdict);
    job->ended_ms = now_ms;
    wait_list_wake(&job->onlookers, &server->service.woken);
    server_leave(server);
}

void server_end_job(struct http_service *service, struct rendezvous_job *job, const char *why,
                    uint64_t now_ms)
{
    struct server *server = server_of(service);
    server_enter(server, now_ms);
    if (job->slots) {
        membership_end(&job->membership, why);
        carry_out(server, job);
    } else {
        pending_workers_end(&job->pending, why);
        clear_pending_workers(server, job);
    }
    server_leave(server);
}

void server_job_tick(struct server *server, struct rendezvous_job *job)
{
    if (job->slots) {
        membership_tick(&job->membership, server->now_ms);
        rank_query_tick(&job->rank_query, server->now_ms);
    } else if (job->pending.state == PENDING_WORKERS_OPEN) {
        pending_workers_tick(&job->pending, server->now_ms);
        rendezvous_job_lapse(job, server->now_ms);
        if (job->pending.state == PENDING_WORKERS_BROKEN)
            clear_pending_workers(server, job);
    }
    carry_out(server, job);
}
