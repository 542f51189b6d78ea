/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous that a rank serves; see rank_server.h. */
#include "lib/serve/rank_server.h"

#include "lib/base/rank_end_text.h"
#include "rendezvous/base/deadline.h"
#include "rendezvous/base/rendezvous_options.h"
#include "rendezvous/world/pending_workers_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rank_server_init(struct rank_server *server, const char *job, int size,
                     const struct job_key *key, uint64_t start_timeout_ms, struct err *err)
{
    *server = (struct rank_server){ .size = size, .keyring.key = *key };
    TAILQ_INIT(&server->connections);
    server->ranks = calloc((size_t)size, sizeof(struct rank_server_connection *));
    if (!server->ranks)
        return fail(err, HVD_ERR_NOMEM, "out of memory for %d ranks", size);
    pending_workers_init(&server->pending, job, size, start_timeout_ms);
    return HVD_OK;
}

void rank_server_fini(struct rank_server *server)
{
    if (server->placed)
        membership_fini(&server->membership);
    pending_workers_fini(&server->pending);
    keyring_wipe(&server->keyring);
    free(server->ranks);
}

/* ---- what is told ---- */

/* The carrier closes it after what is still to be sent. */
static void end_connection(struct rank_server_connection *connection)
{
    connection->ending = true;
    if (connection->hello_ms != MEMBERSHIP_NEVER)
        connection->server->unproven--;
    connection->hello_ms = MEMBERSHIP_NEVER;
}

static void refuse_worker(struct rank_server_connection *connection, int status, const char *text)
{
    join_session_refuse(&connection->join, &connection->out, status, text);
    end_connection(connection);
}

static void tell_action(struct rank_server *server, const struct membership_action *action)
{
    struct rank_server_connection *connection = server->ranks[action->rank];
    struct join_welcome welcome;
    struct err err;
    if (!connection)
        return;
    switch (action->act) {
    case MEMBERSHIP_WELCOME:
        membership_welcome(&server->membership, action->rank, &welcome);
        join_session_welcome(&connection->join, &connection->out, &welcome);
        break;
    case MEMBERSHIP_REFUSE:
        rank_end_fail(&err, action->cause);
        refuse_worker(connection, err.code, err.text);
        break;
    default:
        join_session_news(&connection->join, &connection->out, action->cause);
    }
    if (connection->out.failed)
        end_connection(connection);
}

/* Tells what the last event has made necessary. Nobody waits for what a launcher would be told. */
static void tell_members(struct rank_server *server)
{
    struct membership_action action;
    while (server->placed && membership_next(&server->membership, &action))
        if (action.rank < server->size)
            tell_action(server, &action);
}

static void refuse_pending(struct rank_server *server)
{
    struct pending_workers *pending = &server->pending;
    for (int i = 0; i < pending->count; i++) {
        struct rank_server_connection *connection = pending->workers[i].owner;
        if (connection && !connection->ending)
            refuse_worker(connection, pending->cause.code, pending->cause.text);
    }
}

static void tell_to_wait(struct rank_server_connection *connection, uint64_t now_ms)
{
    const struct pending_workers *pending = &connection->server->pending;
    struct join_waiting waiting;
    uint64_t most_ms = pending->deadline_ms > now_ms ? pending->deadline_ms - now_ms : 0;
    waiting.most_ms = most_ms < JOIN_WAITING_MAX_MS ? (uint32_t)most_ms : JOIN_WAITING_MAX_MS;
    pending_workers_text_awaited(waiting.text, pending);
    join_session_wait(&connection->join, &connection->out, &waiting);
}

/* ---- when all have come ---- */

static int join_worker(struct rank_server *server, const struct pending_worker *worker,
                       uint64_t now_ms, struct err *err)
{
    struct join_hello hello = { .rank = worker->rank,
                                .size = server->size,
                                .pid = worker->pid,
                                .processors = worker->processors,
                                .addresses = worker->addresses };
    struct rank_server_connection *connection = worker->owner;
    snprintf(hello.host, sizeof hello.host, "%s", worker->host);
    memcpy(hello.key, worker->key, sizeof hello.key);
    server->ranks[worker->rank] = connection;
    connection->rank = worker->rank;
    return membership_join(&server->membership, &hello, now_ms, err);
}

static int assign_places(struct rank_server *server, uint64_t now_ms, struct err *err)
{
    struct pending_workers *pending = &server->pending;
    struct rendezvous_slot *slots = calloc((size_t)server->size, sizeof *slots);
    int rc = slots ? pending_workers_assign(pending, slots, err)
                   : fail(err, HVD_ERR_NOMEM, "out of memory for %d ranks", server->size);
    if (rc == HVD_OK)
        rc = membership_init(&server->membership, slots, server->size, pending->start_timeout_ms,
                             err);
    free(slots);
    server->placed = rc == HVD_OK;
    for (int i = 0; i < pending->count && rc == HVD_OK; i++)
        rc = join_worker(server, &pending->workers[i], now_ms, err);
    return rc;
}

/* ---- what a worker says ---- */

static int take_hello(struct rank_server_connection *connection, const struct join_hello *hello,
                      uint64_t now_ms, struct err *err)
{
    struct rank_server *server = connection->server;
    if (server->placed && server->membership.world == WORLD_BROKEN)
        return rank_end_fail(err, &server->membership.cause);
    int worker;
    int rc = join_session_check_worker(&connection->join, hello, err);
    if (rc < 0)
        return rc;
    rc = pending_workers_join(&server->pending, hello, connection, now_ms, &worker, err);
    if (rc < 0)
        return rc;
    connection->worker = worker;
    if (server->pending.state != PENDING_WORKERS_FULL) {
        tell_to_wait(connection, now_ms);
        return HVD_OK;
    }
    struct err why;
    if (assign_places(server, now_ms, &why) < 0) {
        pending_workers_end(&server->pending, why.text);
        refuse_pending(server);
    }
    tell_members(server);
    return HVD_OK;
}

static void on_worker_hello(struct rank_server_connection *connection,
                            const struct join_hello *hello, uint64_t now_ms)
{
    struct err err;
    connection->server->unproven--;
    connection->hello_ms = MEMBERSHIP_NEVER;
    int rc = take_hello(connection, hello, now_ms, &err);
    if (rc < 0)
        refuse_worker(connection, rc, err.text);
}

static void pending_worker_gone(struct rank_server_connection *connection, bool said_goodbye)
{
    struct pending_workers *pending = &connection->server->pending;
    int worker = connection->worker;
    if (worker < 0)
        return;
    connection->worker = -1;
    pending->workers[worker].owner = NULL;
    if (connection->server->placed || pending->state != PENDING_WORKERS_OPEN)
        return;
    pending_workers_leave(pending, worker, said_goodbye);
    refuse_pending(connection->server);
}

/* A rank that is gone is no longer told anything. */
static void forget_rank(struct rank_server_connection *connection)
{
    if (connection->rank >= 0)
        connection->server->ranks[connection->rank] = NULL;
    connection->rank = -1;
}

static void on_worker_goodbye(struct rank_server_connection *connection,
                              const struct rank_end *goodbye)
{
    struct rank_server *server = connection->server;
    int rank = connection->rank;
    end_connection(connection);
    forget_rank(connection);
    pending_worker_gone(connection, true);
    if (rank < 0)
        return;
    membership_goodbye(&server->membership, rank, goodbye);
    tell_members(server);
}

static void worker_disconnected(struct rank_server_connection *connection, uint64_t now_ms)
{
    struct rank_server *server = connection->server;
    int rank = connection->rank;
    end_connection(connection);
    forget_rank(connection);
    pending_worker_gone(connection, false);
    if (rank < 0)
        return;
    membership_broke(&server->membership, rank, now_ms);
    tell_members(server);
}

static void on_worker_broken(struct rank_server_connection *connection,
                             const struct rank_end *broken, uint64_t now_ms)
{
    struct rank_server *server = connection->server;
    if (connection->rank < 0 || !membership_was_complete(&server->membership)) {
        worker_disconnected(connection, now_ms);
        return;
    }
    membership_word(&server->membership, connection->rank, broken);
    tell_members(server);
}

static void on_worker_event(struct rank_server_connection *connection,
                            const struct join_event *event, uint64_t now_ms)
{
    switch (event->type) {
    case JOIN_HELLO:
        on_worker_hello(connection, &event->hello, now_ms);
        break;
    case JOIN_BROKEN:
        on_worker_broken(connection, &event->goodbye, now_ms);
        break;
    case JOIN_GOODBYE:
        on_worker_goodbye(connection, &event->goodbye);
        break;
    default: /* REPORT: nobody asks for one, so the session lets none through */
        worker_disconnected(connection, now_ms);
    }
}

/* What is wrong with a connection that ends is of no interest: it ends. */
static void take_events(struct rank_server_connection *connection, uint64_t now_ms)
{
    struct join_event event;
    int rc = 1;
    while (!connection->ending &&
           (rc = join_session_next(&connection->join, &event, &connection->out, NULL)) > 0)
        on_worker_event(connection, &event, now_ms);
    if (!connection->ending && (rc < 0 || connection->out.failed))
        worker_disconnected(connection, now_ms);
}

void rank_server_receive(struct rank_server_connection *connection, const void *data, size_t length,
                         uint64_t now_ms)
{
    const char *at = data;
    while (length > 0 && !connection->ending) {
        size_t used = join_session_take(&connection->join, at, length);
        if (used == 0) {
            worker_disconnected(connection, now_ms);
            return;
        }
        at += used;
        length -= used;
        take_events(connection, now_ms);
    }
}

/* ---- connections ---- */

/* One that has said OPEN is probably a rank whose HELLO is on its way. */
static struct rank_server_connection *least_wanted_unproven(struct rank_server *server)
{
    struct rank_server_connection *at, *first = NULL;
    TAILQ_FOREACH(at, &server->connections, link)
    {
        if (at->hello_ms == MEMBERSHIP_NEVER)
            continue;
        if (at->join.state == JOIN_SESSION_OPENING)
            return at;
        first = first ? first : at;
    }
    return first;
}

struct rank_server_connection *rank_server_accept(struct rank_server *server, int fd,
                                                  uint64_t now_ms)
{
    struct rank_server_connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    int expected = server->size - server->pending.count;
    if (server->unproven >= RANK_SERVER_UNPROVEN_MAX + expected)
        end_connection(least_wanted_unproven(server));
    *connection = (struct rank_server_connection){
        .server = server,
        .fd = fd,
        .rank = -1,
        .worker = -1,
        .hello_ms = now_ms + RANK_SERVER_HELLO_MS,
    };
    join_session_init(&connection->join, &server->keyring);
    TAILQ_INSERT_TAIL(&server->connections, connection, link);
    server->unproven++;
    return connection;
}

void rank_server_closed(struct rank_server_connection *connection, uint64_t now_ms)
{
    struct rank_server *server = connection->server;
    worker_disconnected(connection, now_ms);
    TAILQ_REMOVE(&server->connections, connection, link);
    join_session_fini(&connection->join);
    wire_writer_fini(&connection->out);
    free(connection);
}

void rank_server_tick(struct rank_server *server, uint64_t now_ms)
{
    struct rank_server_connection *at;
    TAILQ_FOREACH(at, &server->connections, link)
    if (at->hello_ms <= now_ms)
        end_connection(at);
    if (server->placed) {
        membership_tick(&server->membership, now_ms);
        tell_members(server);
        return;
    }
    bool open = server->pending.state == PENDING_WORKERS_OPEN;
    pending_workers_tick(&server->pending, now_ms);
    if (open && server->pending.state == PENDING_WORKERS_BROKEN)
        refuse_pending(server);
}

uint64_t rank_server_deadline(const struct rank_server *server)
{
    uint64_t deadline_ms =
        server->placed ? membership_deadline(&server->membership) : server->pending.deadline_ms;
    const struct rank_server_connection *at;
    TAILQ_FOREACH(at, &server->connections, link)
    deadline_ms = deadline_earlier(deadline_ms, at->hello_ms);
    return deadline_ms;
}

void rank_server_farewell(struct rank_server *server)
{
    struct rank_end end = rank_end_none();
    if (!server->placed) {
        pending_workers_end(&server->pending, "rank 0, which served the rendezvous, has left");
        refuse_pending(server);
        return;
    }
    end.how.kind = RANK_END_LEFT;
    end.status = HVD_ERR_PEER_LEFT;
    end.rank = 0;
    snprintf(end.host, sizeof end.host, "%s", server->membership.slots[0].host);
    for (int rank = 1; rank < server->size; rank++) {
        struct rank_server_connection *connection = server->ranks[rank];
        if (connection && !connection->ending)
            join_session_news(&connection->join, &connection->out, &end);
    }
}

bool rank_server_is_left(const struct rank_server *server)
{
    return !server->ranks[0] && (!server->placed || server->membership.in_grace == 0);
}
