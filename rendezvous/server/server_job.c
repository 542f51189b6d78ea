/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a job when a worker sends a message or ends, or when time passes: pending workers and
 * membership decide, and this file carries out their decisions on the workers' connections
 * (server_elastic.c: those about elastic jobs). A worker counts as disconnected if memory for a
 * message to it runs out. */
#include "rendezvous/server/server_impl.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/world/membership_text.h"
#include "rendezvous/world/pending_workers_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Reports a line to the operator of a service. */
void server_job_say(struct server *server, const char *job, const char *format, ...)
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

void server_refuse(struct rendezvous_connection *connection, int status, const char *text)
{
    struct wire_writer out = { 0 };
    join_session_refuse(&connection->join, &out, status, text);
    server_flush(connection, &out);
    server_end(connection);
}

/* A world of a job: the present one, or the epoch that gathers. */
struct world {
    struct membership *membership;
    struct rendezvous_job_rank *ranks;
    bool *told_origin;
};

static struct world present_world(struct rendezvous_job *job)
{
    return (struct world){ &job->membership, job->ranks, &job->told_origin };
}

static struct world next_world(struct rendezvous_job *job)
{
    return (struct world){ &job->next->membership, job->next->ranks, &job->next->told_origin };
}

/* On the heap: it is too large for a small stack. */
static void put_welcome(const struct world *world, int rank, struct join_session *session,
                        struct wire_writer *out)
{
    struct join_welcome *welcome = malloc(sizeof *welcome);
    if (!welcome) {
        out->failed = true;
        return;
    }
    membership_welcome(world->membership, rank, welcome);
    welcome->worker = world->ranks[rank].worker;
    join_session_welcome(session, out, welcome);
    free(welcome);
}

static void put_message(const struct world *world, const struct membership_action *action,
                        struct join_session *session, struct wire_writer *out)
{
    if (action->act == MEMBERSHIP_WELCOME) {
        put_welcome(world, action->rank, session, out);
    } else if (action->act == MEMBERSHIP_REFUSE) {
        struct err err;
        rank_end_fail(&err, action->cause);
        join_session_refuse(session, out, err.code, err.text);
    } else {
        join_session_news(session, out, action->cause);
    }
}

static void tell_rank(struct server *server, const struct world *world,
                      const struct membership_action *action)
{
    struct rendezvous_connection *connection = world->ranks[action->rank].connection;
    if (!connection)
        return;
    struct wire_writer out = { 0 };
    put_message(world, action, &connection->join, &out);
    bool told = server_flush(connection, &out);
    if (!told || action->act == MEMBERSHIP_REFUSE)
        server_end(connection);
    if (!told)
        membership_broke(world->membership, action->rank, server->now_ms);
}

/* Reports the members of the world to the launcher, once. The launcher may cause the next world
 * meanwhile. */
static void tell_world(struct server *server, struct rendezvous_job *job)
{
    int *workers = job->membership.workers;
    job->membership.workers = NULL;
    for (int rank = 0; workers && rank < job->size; rank++)
        workers[rank] = job->ranks[rank].worker;
    if (workers && server->events.world)
        server->events.world(server->context, (int)job->membership.epoch, workers, job->size);
    free(workers);
}

void server_on_complete(struct server *server, struct rendezvous_job *job)
{
    uint32_t epoch = job->membership.epoch;
    bool first = !job->was_complete;
    job->was_complete = true;
    if (first)
        metrics_joined(&server->metrics, server->now_ms - job->first_ms);
    if (first && server->events.complete)
        server->events.complete(server->context);
    if (!server->closed)
        tell_world(server, job);
    bool alone = job->size == 1;
    if (epoch == 0)
        server_job_say(server, job->id,
                       alone ? "its %d worker has come" : "all %d workers have come", job->size);
    else
        server_job_say(server, job->id,
                       alone ? "its %d worker of epoch %u has come"
                             : "all %d workers of epoch %u have come",
                       job->size, epoch);
}

/* Closes a job of a service that has ended or failed. */
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

/* An end as the launcher hears it: its ranks are workers. */
static struct rank_end end_for_launcher(const struct world *world, const struct rank_end *end)
{
    struct rank_end told = *end;
    if (told.rank >= 0 && told.rank < world->membership->size)
        told.rank = world->ranks[told.rank].worker;
    if (told.because_of >= 0 && told.because_of < world->membership->size)
        told.because_of = world->ranks[told.because_of].worker;
    return told;
}

/* Reports the first failure to the launcher, once. */
static void tell_origin(struct server *server, const struct world *world)
{
    if (*world->told_origin || world->membership->origin.status == HVD_OK || server->closed)
        return;
    *world->told_origin = true;
    struct rank_end origin = end_for_launcher(world, &world->membership->origin);
    if (server->events.origin)
        server->events.origin(server->context, &origin);
}

/* Does the next thing for the world, or for the epoch that gathers; false when all is done. The
 * world may be another one after it. */
static bool carry_out_next(struct server *server, struct rendezvous_job *job, bool gathering)
{
    struct membership_action action;
    if (server->closed || (gathering ? !job->next : !job->slots))
        return false;
    struct world world = gathering ? next_world(job) : present_world(job);
    if (!membership_next(world.membership, &action)) {
        tell_origin(server, &world);
        return false;
    }
    if (action.act == MEMBERSHIP_COMPLETE)
        server_on_complete(server, job);
    else if (action.act == MEMBERSHIP_TIMED_OUT && server->events.timed_out)
        server->events.timed_out(server->context, action.cause->words);
    else if (action.act != MEMBERSHIP_TIMED_OUT)
        tell_rank(server, &world, &action);
    return true;
}

/* The epoch that gathers shares the fate of a world that breaks, and takes its place when it is
 * complete. */
static void move_next(struct server *server, struct rendezvous_job *job)
{
    if (!job->next)
        return;
    if (job->membership.world == WORLD_BROKEN)
        membership_follow(&job->next->membership, &job->membership.cause);
    if (job->next->membership.world != WORLD_COMPLETE)
        return;
    server_leave_world(server, job);
    rendezvous_job_advance(job);
    for (int rank = 0; rank < job->size; rank++)
        if (job->ranks[rank].connection)
            job->ranks[rank].connection->place.kind = SERVER_RANK;
}

/* The launcher's callbacks may cause further events meanwhile, and server_close(). */
void server_carry_out(struct server *server, struct rendezvous_job *job)
{
    do {
        while (carry_out_next(server, job, false))
            ;
        move_next(server, job);
    } while (carry_out_next(server, job, true) || carry_out_next(server, job, false));
    if (job->elastic)
        server_elastic_move(server, job);
    server_due(server, rendezvous_job_deadline(job));
    check_over(server, job);
}

void server_leave_world(struct server *server, struct rendezvous_job *job)
{
    server_query_end(server, job);
    for (int rank = 0; job->ranks && rank < job->size; rank++) {
        struct rendezvous_connection *connection = job->ranks[rank].connection;
        if (connection)
            connection->place = (struct server_place){ .kind = SERVER_NOWHERE };
        job->ranks[rank].connection = NULL;
    }
}

/* The start has failed: refuses the workers that wait, with the reason. */
static void clear_pending_workers(struct server *server, struct rendezvous_job *job)
{
    struct pending_workers *pending = &job->pending;
    for (int i = 0; i < pending->count && !server->closed; i++) {
        struct rendezvous_connection *connection = pending->workers[i].owner;
        if (connection)
            server_refuse(connection, pending->cause.code, pending->cause.text);
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
    for (int rank = 0; rank < job->size; rank++)
        job->ranks[rank].connection->place = (struct server_place){ SERVER_RANK, rank };
    server_carry_out(server, job);
}

/* Tells a worker how long to wait and for what, so that it notices a silent rendezvous. A worker
 * that cannot be told counts as disconnected. */
void server_tell_to_wait(struct rendezvous_connection *connection, uint64_t until_ms,
                         struct join_waiting *waiting)
{
    struct wire_writer out = { 0 };
    uint64_t now_ms = connection->server->now_ms,
             most_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    waiting->most_ms = most_ms < JOIN_WAITING_MAX_MS ? (uint32_t)most_ms : JOIN_WAITING_MAX_MS;
    if (until_ms == SERVER_NEVER)
        waiting->most_ms = JOIN_WAITING_NO_LIMIT;
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
    server_tell_to_wait(connection, membership->start_deadline_ms, &waiting);
}

static void tell_pending_worker_to_wait(struct rendezvous_connection *connection,
                                        const struct pending_workers *pending)
{
    struct join_waiting waiting;
    pending_workers_text_awaited(waiting.text, pending);
    server_tell_to_wait(connection, pending->deadline_ms, &waiting);
}

/* Makes the connection that of a worker of the job. */
void server_take_in(struct rendezvous_connection *connection, struct rendezvous_job *job,
                    struct server_place place)
{
    server_set_role(connection, SERVER_WORKER);
    connection->job = job;
    connection->place = place;
    if (job->connected++ == 0 && job->first_ms == 0)
        job->first_ms = connection->server->now_ms;
}

/* A rank that has left the world joins the next epoch. */
static int join_again(struct rendezvous_connection *connection, struct rendezvous_job *job,
                      const struct join_hello *hello, struct err *err)
{
    int rank;
    struct server *server = connection->server;
    int rc = rendezvous_job_come_again(job, hello, connection, server->now_ms, &rank, err);
    if (rc < 0) {
        server_carry_out(server, job); /* the epoch may have failed with it */
        return rc;
    }
    server_take_in(connection, job, (struct server_place){ SERVER_NEXT_RANK, rank });
    tell_member_to_wait(connection, &job->next->membership);
    server_carry_out(server, job);
    return HVD_OK;
}

static int join_planned(struct rendezvous_connection *connection, struct rendezvous_job *job,
                        const struct join_hello *hello, struct err *err)
{
    if (hello->epoch > 0)
        return join_again(connection, job, hello, err);
    uint64_t now_ms = connection->server->now_ms;
    int rc = membership_join(&job->membership, hello, now_ms, err);
    if (rc < 0)
        return rc;
    server_take_in(connection, job, (struct server_place){ SERVER_RANK, hello->rank });
    struct rendezvous_job_rank *rank = &job->ranks[hello->rank];
    rank->connection = connection;
    rank->pid = hello->pid;
    rank->joined = true;
    rank->joined_ms = rank->heard_ms = now_ms;
    struct server *server = connection->server;
    tell_member_to_wait(connection, &job->membership);
    server_carry_out(server, job);
    return HVD_OK;
}

static int join_pending_workers(struct rendezvous_connection *connection,
                                struct rendezvous_job *job, const struct join_hello *hello,
                                struct err *err)
{
    struct server *server = connection->server;
    if (job->slots && hello->epoch > 0)
        return join_again(connection, job, hello, err);
    if (job->slots && job->membership.world == WORLD_BROKEN)
        return rank_end_fail(err, &job->membership.cause);
    int worker;
    struct join_hello known = *hello;
    if (hello->rank < 0 && hello->epoch > 0) /* all have left the job that it was in */
        known.rank = hello->worker < hello->size ? hello->worker : -1;
    int rc = pending_workers_join(&job->pending, &known, connection, server->now_ms, &worker, err);
    if (rc < 0)
        return rc;
    if (job->first_epoch < hello->epoch)
        job->first_epoch = hello->epoch;
    server_take_in(connection, job, (struct server_place){ SERVER_PENDING, worker });
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
static struct rendezvous_job *find_job(struct server *server, const char *id,
                                       const struct join_hello *hello, struct err *err)
{
    struct rendezvous_job *job = job_table_find(&server->job_table, id);
    if (job && !rendezvous_job_is_over(job))
        return job;
    if (server->keyring.service && hello->size == 0) {
        fail(err, HVD_ERR_ENVIRONMENT,
             "there is no elastic job '%s' here: one must be declared (PUT /v1/jobs/ID)", id);
        return NULL;
    }
    if (!server->keyring.service || !*id) {
        fail(err, HVD_ERR_ENVIRONMENT, "HVD_JOB_ID: there is no job '%s' here", id);
        return NULL;
    }
    return job_table_make(&server->job_table, id, 0, 0, server->now_ms, err);
}

static int check_elastic(const struct rendezvous_job *job, const struct join_hello *hello,
                         struct err *err)
{
    bool elastic = hello->size == 0;
    if (elastic == (job->elastic != NULL))
        return HVD_OK;
    return elastic ? fail(err, HVD_ERR_ENVIRONMENT,
                          "HOROVOD_ELASTIC is set, but job %s is not elastic", job->id)
                   : fail(err, HVD_ERR_ENVIRONMENT,
                          "HOROVOD_ELASTIC is not set, but job %s is elastic", job->id);
}

void server_on_hello(struct rendezvous_connection *connection, const struct join_hello *hello)
{
    struct err err = { 0 };
    const char *id = connection->join.owner.job;
    struct rendezvous_job *job = NULL;
    if (join_session_check_worker(&connection->join, hello, &err) == HVD_OK)
        job = find_job(connection->server, id, hello, &err);
    if (job && !job->elastic && connection->server->events.met && hello->rank >= 0 &&
        hello->rank < job->size)
        connection->server->events.met(connection->server->context, hello->rank);
    int rc = !job ? err.code : check_elastic(job, hello, &err);
    if (rc == HVD_OK)
        rc = job->elastic   ? server_elastic_hello(connection, job, hello, &err)
             : job->planned ? join_planned(connection, job, hello, &err)
                            : join_pending_workers(connection, job, hello, &err);
    if (rc == HVD_OK)
        return;
    connection->server->metrics.refused_workers++;
    server_job_say(connection->server, id, "refused a worker on %s (pid %d): %s", hello->host,
                   hello->pid, err.text);
    server_refuse(connection, rc, err.text);
}

void server_on_report(struct rendezvous_connection *connection, const struct join_report *report)
{
    struct rendezvous_job *job = connection->job;
    int rank = connection->place.index;
    if (connection->place.kind != SERVER_RANK)
        return;
    rendezvous_job_heard(job, rank, report, connection->server->now_ms);
    rank_query_answer(&job->rank_query, rank, report->waits.for_whom, report->text);
}

void server_worker_gone(struct rendezvous_connection *connection)
{
    struct rendezvous_job *job = connection->job;
    int index = connection->place.index;
    job->connected--;
    if (connection->place.kind == SERVER_RANK)
        job->ranks[index].connection = NULL;
    else if (connection->place.kind == SERVER_NEXT_RANK)
        job->next->ranks[index].connection = NULL;
    else if (connection->place.kind == SERVER_PENDING)
        job->pending.workers[index].owner = NULL;
    else if (connection->place.kind == SERVER_WAITING)
        elastic_gone(job->elastic, index);
    connection->place.kind = SERVER_NOWHERE;
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

static bool has_rank(const struct server_place *place)
{
    return place->kind == SERVER_RANK || place->kind == SERVER_NEXT_RANK;
}

static struct world world_of(struct rendezvous_job *job, const struct server_place *place)
{
    return place->kind == SERVER_NEXT_RANK ? next_world(job) : present_world(job);
}

static void tell_left(struct server *server, const struct world *world, int rank,
                      const struct rank_end *said)
{
    struct rank_end told = end_for_launcher(world, said);
    if (server->events.left)
        server->events.left(server->context, world->ranks[rank].worker, &told);
}

/* Only a rank of a world may say that its world is broken. The word of a rank whose world has
 * been replaced is ignored. */
void server_on_word(struct rendezvous_connection *connection, const struct rank_end *word)
{
    struct server *server = connection->server;
    struct rendezvous_job *job = connection->job;
    int rank = connection->place.index;
    if (connection->place.kind == SERVER_NOWHERE)
        return;
    if (connection->place.kind != SERVER_RANK || !membership_was_complete(&job->membership)) {
        server_send_away(connection);
        return;
    }
    struct world world = present_world(job);
    membership_word(&job->membership, rank, word);
    tell_left(server, &world, rank, word);
    server_carry_out(server, job);
}

void server_on_goodbye(struct rendezvous_connection *connection, const struct rank_end *goodbye)
{
    struct server *server = connection->server;
    struct rendezvous_job *job = connection->job;
    struct server_place place = connection->place;
    server_end(connection);
    if (place.kind == SERVER_PENDING)
        pending_worker_lost(server, job, place.index, true);
    if (has_rank(&place)) {
        struct world world = world_of(job, &place);
        membership_goodbye(world.membership, place.index, goodbye);
        if (place.kind == SERVER_RANK)
            rendezvous_job_left(job, place.index, goodbye, server->now_ms);
        if (goodbye->status != HVD_OK)
            tell_left(server, &world, place.index, goodbye);
    }
    if (place.kind != SERVER_PENDING)
        server_carry_out(server, job);
}

void server_on_broken(struct server *server, struct rendezvous_job *job, struct server_place place)
{
    if (place.kind == SERVER_PENDING) {
        pending_worker_lost(server, job, place.index, false);
        return;
    }
    if (has_rank(&place)) {
        struct world world = world_of(job, &place);
        membership_broke(world.membership, place.index, server->now_ms);
        if (world.membership->members[place.index].state == MEMBER_BROKEN &&
            server->events.disconnected)
            server->events.disconnected(server->context, world.ranks[place.index].worker);
    }
    server_carry_out(server, job);
}

/* A worker of Horovod's own does not say for which ranks it has waited when it gives up, so this
 * is reported in its place. */
static void tell_missing(struct server *server, struct rendezvous_job *job)
{
    char text[JOIN_TEXT_MAX];
    if (membership_text_missing(text, &job->membership, false) && server->events.missing)
        server->events.missing(server->context, text);
}

void server_rank_started(struct server *server, int worker, int pid)
{
    struct rendezvous_job *job = server->job_table.only;
    int rank = rendezvous_job_rank_of(job, worker);
    if (rank >= 0)
        job->ranks[rank].pid = pid;
}

/* A worker that waits is dropped at once: no world must be made with it. */
static void worker_ended(struct rendezvous_job *job, int worker)
{
    if (elastic_state_of(job->elastic, worker) != ELASTIC_WAITING)
        return;
    struct rendezvous_connection *connection = elastic_hello_of(job->elastic, worker)->owner;
    if (connection)
        server_send_away(connection);
    else
        elastic_gone(job->elastic, worker);
}

void server_rank_ended(struct server *server, int worker, const struct rank_end_how *how,
                       uint64_t now_ms)
{
    struct rendezvous_job *job = server->job_table.only;
    server_enter(server, now_ms);
    int rank = rendezvous_job_rank_of(job, worker);
    bool met_elsewhere = rank >= 0 && job->membership.members[rank].state == MEMBER_ELSEWHERE;
    bool gathering = rank >= 0 && job->membership.world == WORLD_GATHERING;
    if (rank >= 0)
        membership_ended(&job->membership, rank, how, now_ms);
    if (job->next)
        membership_ended(&job->next->membership, worker, how, now_ms);
    if (job->elastic)
        worker_ended(job, worker);
    if (met_elsewhere && gathering && !job->elastic && job->membership.world == WORLD_BROKEN)
        tell_missing(server, job);
    server_carry_out(server, job);
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
    if (job->elastic) {
        pending_workers_end(&job->pending, why);
        server_elastic_refuse_all(server, job, job->pending.cause.code, job->pending.cause.text);
    }
    if (job->slots) {
        membership_end(&job->membership, why);
        server_carry_out(server, job);
    } else if (job->elastic) {
        check_over(server, job);
    } else {
        pending_workers_end(&job->pending, why);
        clear_pending_workers(server, job);
    }
    server_leave(server);
}

void server_job_tick(struct server *server, struct rendezvous_job *job)
{
    if (job->next)
        membership_tick(&job->next->membership, server->now_ms);
    if (job->slots) {
        membership_tick(&job->membership, server->now_ms);
        rank_query_tick(&job->rank_query, server->now_ms);
    } else if (!job->planned && job->pending.state == PENDING_WORKERS_OPEN) {
        pending_workers_tick(&job->pending, server->now_ms);
        rendezvous_job_lapse(job, server->now_ms);
        if (job->pending.state == PENDING_WORKERS_BROKEN)
            clear_pending_workers(server, job);
    }
    server_carry_out(server, job);
}
