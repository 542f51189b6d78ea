/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic jobs: carries out what elastic.h decides on the connections of the workers. A worker that
 * says HELLO waits; when all members of the next world wait, the world takes the place of the
 * former; a running world whose members are to change is told. A worker for which memory runs out
 * is refused, and so are all members of a world that cannot be made. */
#include "rendezvous/server/server_impl.h"

#include <stdio.h>

/* Sends `update` to each rank that is in the world. */
static void tell_update(struct server *server, struct rendezvous_job *job,
                        const struct join_update *update)
{
    for (int rank = 0; job->ranks && rank < job->size; rank++) {
        struct rendezvous_connection *connection = job->ranks[rank].connection;
        struct wire_writer out = { 0 };
        if (!connection || job->membership.members[rank].state != MEMBER_JOINED)
            continue;
        join_session_update(&connection->join, &out, update);
        if (!server_flush(connection, &out))
            server_send_away(connection);
    }
    if (elastic_is_gloo(job->elastic, job->ranks[0].worker) && server->events.hosts_updated)
        server->events.hosts_updated(server->context, job->ranks[0].worker);
    server_job_say(server, job->id, "the members are to change");
}

static void refuse_waiting(struct server *server, struct rendezvous_job *job, int worker,
                           int status, const char *text)
{
    struct rendezvous_connection *connection = elastic_hello_of(job->elastic, worker)->owner;
    if (connection) {
        server_refuse(connection, status, text);
        return;
    }
    elastic_gone(job->elastic, worker);
    wait_list_wake(&job->comers, &server->service.woken);
}

void server_elastic_refuse_all(struct server *server, struct rendezvous_job *job, int status,
                               const char *text)
{
    for (int worker = 0; worker < job->elastic->numbered && !server->closed; worker++)
        if (elastic_state_of(job->elastic, worker) == ELASTIC_WAITING)
            refuse_waiting(server, job, worker, status, text);
}

static void refuse_removed(struct server *server, struct rendezvous_job *job, int worker)
{
    char text[64];
    snprintf(text, sizeof text, "worker %d was removed from this job", worker);
    refuse_waiting(server, job, worker, HVD_ERR_REMOVED, text);
}

/* The connections of the members get the ranks of the new world. */
static void make_world(struct server *server, struct rendezvous_job *job)
{
    struct err err;
    server_leave_world(server, job);
    if (rendezvous_job_make_world(job, server->now_ms, &err) < 0) {
        server_elastic_refuse_all(server, job, err.code, err.text);
        return;
    }
    for (int rank = 0; rank < job->size; rank++)
        if (job->ranks[rank].connection)
            job->ranks[rank].connection->place = (struct server_place){ SERVER_RANK, rank };
    wait_list_wake(&job->comers, &server->service.woken);
    if (elastic_has_gloo(job->elastic))
        server_on_complete(server, job);
    server_carry_out(server, job);
}

static void elastic_do(struct server *server, struct rendezvous_job *job,
                       const struct elastic_action *action)
{
    switch (action->act) {
    case ELASTIC_REFUSE:
        refuse_removed(server, job, action->worker);
        break;
    case ELASTIC_WORLD:
        make_world(server, job);
        break;
    case ELASTIC_UPDATE:
        tell_update(server, job, &action->update);
        break;
    }
}

/* In a service, decides the members of the next world. */
static void server_elastic_decide(struct server *server, struct rendezvous_job *job)
{
    struct err err;
    char text[JOIN_TEXT_MAX];
    if (job->planned || job->pending.state == PENDING_WORKERS_BROKEN)
        return;
    if (rendezvous_job_timed_out(job, server->now_ms, text)) {
        server_job_say(server, job->id, "%s", text);
        server_elastic_refuse_all(server, job, HVD_ERR_TIMEOUT, text);
    }
    if (rendezvous_job_decide(job, server->now_ms, &err) < 0)
        server_elastic_refuse_all(server, job, err.code, err.text);
}

void server_elastic_move(struct server *server, struct rendezvous_job *job)
{
    struct elastic_action action;
    if (server->closed)
        return;
    if (job->slots && job->membership.world == WORLD_BROKEN)
        elastic_broke(job->elastic);
    server_elastic_decide(server, job);
    while (!server->closed && elastic_next(job->elastic, &action))
        elastic_do(server, job, &action);
}

/* A worker without a number, or whose number another process has by now, gets a new one. */
static int service_number(const struct elastic *elastic, const struct join_hello *hello)
{
    const struct elastic_hello *other = elastic_hello_of(elastic, hello->worker);
    bool is_own = hello->worker >= 0 && hello->epoch > 0 &&
                  (!other || (other->pid == hello->pid && strcmp(other->host, hello->host) == 0));
    return is_own ? hello->worker : elastic->numbered;
}

int server_elastic_hello(struct rendezvous_connection *connection, struct rendezvous_job *job,
                         const struct join_hello *hello, struct err *err)
{
    void *replaced;
    struct server *server = connection->server;
    struct join_hello known = *hello;
    struct join_waiting waiting = { .text = "the other workers of the next world" };
    if (job->pending.state == PENDING_WORKERS_BROKEN)
        return fail(err, job->pending.cause.code, "%s", job->pending.cause.text);
    if (!job->planned)
        known.worker = service_number(job->elastic, hello);
    if (known.worker > WORKER_NUMBER_MAX)
        return fail(err, HVD_ERR_INVALID, "job %s has had as many workers as it may", job->id);
    int rc = elastic_come(job->elastic, &known, connection, server->now_ms, &replaced, err);
    if (rc < 0)
        return rc;
    if (replaced) {
        ((struct rendezvous_connection *)replaced)->place.kind = SERVER_NOWHERE;
        server_end(replaced);
    }
    server_take_in(connection, job, (struct server_place){ SERVER_WAITING, known.worker });
    server_tell_to_wait(connection, SERVER_NEVER, &waiting);
    if (server->events.met) /* not before: a process that is refused is not the worker */
        server->events.met(server->context, known.worker);
    server_carry_out(server, job);
    return HVD_OK;
}

int server_intend(struct server *server, const struct rendezvous_member *members, int count,
                  uint64_t now_ms, struct err *err)
{
    struct rendezvous_job *job = server->job_table.only;
    if (server->closed)
        return HVD_OK;
    server_enter(server, now_ms);
    int rc = elastic_intend(job->elastic, members, count, err);
    if (rc == HVD_OK)
        server_carry_out(server, job);
    server_leave(server);
    return rc;
}

void server_place_worker(struct server *server, int worker, const struct rank_info *place)
{
    if (!server->closed) /* without memory: the launcher will not be able to intend it */
        (void)elastic_place(server->job_table.only->elastic, worker, place, NULL);
}

int server_gloo_waits(struct http_service *service, struct rendezvous_job *job, int worker,
                      uint64_t now_ms)
{
    struct server *server = server_of(service);
    bool known = elastic_is_gloo(job->elastic, worker);
    server_enter(server, now_ms);
    int rc = elastic_come_gloo(job->elastic, worker, now_ms, NULL);
    if (rc == HVD_OK && !known && server->events.met_gloo)
        server->events.met_gloo(server->context, worker);
    if (rc == HVD_OK && server->events.met && !server->closed)
        server->events.met(server->context, worker);
    server_carry_out(server, job);
    server_leave(server);
    return rc;
}

void server_gloo_listens(struct http_service *service, int worker, const char *text, size_t length)
{
    struct server *server = server_of(service);
    if (server->events.listens)
        server->events.listens(server->context, worker, text, length);
}

void server_remove(struct server *server, int worker, uint64_t now_ms)
{
    struct rendezvous_job *job = server->job_table.only;
    if (server->closed)
        return;
    server_enter(server, now_ms);
    if (elastic_remove(job->elastic, worker, NULL) == HVD_OK)
        server_carry_out(server, job);
    server_leave(server);
}
