/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of a job when a worker sends a message or ends, or when time passes: pending workers and
 * membership decide, and this file carries out their decisions on the workers' connections
 * (server_join.c: when a worker joins; server_elastic.c: those about elastic jobs). A worker counts
 * as disconnected if memory for a message to it runs out. */
#include "rendezvous/server/server_impl.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/world/membership_text.h"

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

/* A rank that a client has named may be no rank of the world. */
static int worker_of_rank(const struct world *world, int rank)
{
    return rank >= 0 && rank < world->membership->size ? world->ranks[rank].worker : RANK_NONE;
}

/* An end as the launcher hears it: its ranks are workers. */
static struct rank_end end_for_launcher(const struct world *world, const struct rank_end *end)
{
    struct rank_end told = *end;
    told.rank = worker_of_rank(world, end->rank);
    told.because_of = worker_of_rank(world, end->because_of);
    told.late.count = 0;
    for (int i = 0; i < end->late.count; i++)
        if (worker_of_rank(world, end->late.rank[i]) != RANK_NONE)
            late_ranks_add(&told.late, worker_of_rank(world, end->late.rank[i]));
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

void server_clear_pending(struct server *server, struct rendezvous_job *job)
{
    struct pending_workers *pending = &job->pending;
    for (int i = 0; i < pending->count && !server->closed; i++) {
        struct rendezvous_connection *connection = pending->workers[i].owner;
        if (connection)
            server_refuse(connection, pending->cause.code, pending->cause.text);
    }
    check_over(server, job);
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
    server_clear_pending(server, job);
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
        server_clear_pending(server, job);
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
            server_clear_pending(server, job);
    }
    server_carry_out(server, job);
}
