/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, their roles and their time; see server.h. What they say is in server_receive.c, what
 * that does to a job in server_job.c and server_rank_query.c. */
#include "rendezvous/server/server_impl.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* So many deadlines may be looked at after each event. */
enum { SERVER_SEARCHED_MAX = 32 };

static void init(struct server *server, const struct job_key *key, uint64_t epoch_ms,
                 uint64_t now_ms)
{
    static const struct http_workers workers = { .ask = server_ask_job,
                                                 .end = server_end_job,
                                                 .wait = server_gloo_waits,
                                                 .listens = server_gloo_listens };
    *server = (struct server){ .keyring.key = *key, .due_ms = SERVER_NEVER };
    server->service = (struct http_service){ .job_table = &server->job_table,
                                             .metrics = &server->metrics,
                                             .workers = &workers,
                                             .epoch_ms = epoch_ms };
    server->metrics.started_ms = epoch_ms + now_ms;
    TAILQ_INIT(&server->service.woken);
    for (int i = 0; i < SERVER_ROLES; i++)
        TAILQ_INIT(&server->connections[i]);
}

int server_init(struct server *server, const struct rendezvous_options *options, uint64_t epoch_ms,
                uint64_t now_ms, struct err *err)
{
    init(server, options->key, epoch_ms, now_ms);
    server->events = options->events;
    server->context = options->context;
    memcpy(server->keyring.job, options->id, strlen(options->id) + 1);
    job_table_init(&server->job_table, 1, options->start_timeout_ms);
    struct rendezvous_job *job = rendezvous_job_create_planned(options, now_ms, err);
    if (!job) {
        server_fini(server);
        return HVD_ERR_NOMEM;
    }
    job_table_add_planned(&server->job_table, job);
    return HVD_OK;
}

static bool server_kept_key(const void *context, const char *id, struct job_key *key)
{
    const struct server *server = context;
    const struct rendezvous_job *job = *id ? job_table_find(&server->job_table, id) : NULL;
    if (!job || !job->keeps_key || rendezvous_job_is_over(job))
        return false;
    *key = job->key;
    return true;
}

void server_change_key(struct server *server, const struct job_key *key)
{
    struct rendezvous_job *job;
    TAILQ_FOREACH(job, &server->job_table.list, link)
    {
        if (job->keeps_key || rendezvous_job_is_over(job))
            continue;
        job_key_derive(&job->key, &server->keyring.key, job->id);
        job->keeps_key = true;
    }
    server->keyring.key = *key;
}

void server_init_service(struct server *server, const struct rendezvous_service_options *options,
                         uint64_t epoch_ms, uint64_t now_ms)
{
    init(server, options->key, epoch_ms, now_ms);
    server->keyring.service = true;
    server->keyring.kept = server_kept_key;
    server->keyring.context = server;
    server->say = options->say;
    server->context = options->context;
    job_table_init(&server->job_table, options->max_jobs, options->start_timeout_ms);
    server->connections_max = options->connections_max;
    server->service.coming.max = options->memory_max / 4;
    server->job_table.values.max = options->memory_max - options->memory_max / 4;
}

void server_fini(struct server *server)
{
    job_table_fini(&server->job_table);
    keyring_wipe(&server->keyring);
}

struct server *server_of(struct http_service *service)
{
    return (struct server *)(void *)((char *)service - offsetof(struct server, service));
}

void server_due(struct server *server, uint64_t deadline_ms)
{
    if (deadline_ms < server->due_ms)
        server->due_ms = deadline_ms;
}

static enum metrics_kind kind_of(enum server_role role)
{
    return role == SERVER_UNAUTHENTICATED ? METRICS_UNAUTHENTICATED
           : role == SERVER_CLIENT        ? METRICS_HTTP
                                          : METRICS_WORKER;
}

static void connections_remove(struct rendezvous_connection *connection)
{
    struct server *server = connection->server;
    TAILQ_REMOVE(&server->connections[connection->role], connection, link);
    server->count[connection->role]--;
    server->metrics.open[kind_of(connection->role)]--;
}

static void connections_add(struct rendezvous_connection *connection, enum server_role role)
{
    struct server *server = connection->server;
    connection->role = role;
    TAILQ_INSERT_TAIL(&server->connections[role], connection, link);
    server->count[role]++;
    if (role != SERVER_DEAD)
        server->metrics.open[kind_of(role)]++;
}

void server_set_role(struct rendezvous_connection *connection, enum server_role role)
{
    connections_remove(connection);
    connections_add(connection, role);
}

static void connection_free(struct rendezvous_connection *connection)
{
    if (connection->language == SERVER_HTTP)
        http_session_fini(&connection->http);
    if (connection->language == SERVER_FRAMES)
        join_session_fini(&connection->join);
    free(connection);
}

static void free_dead(struct server *server)
{
    struct rendezvous_connection *connection;
    while ((connection = TAILQ_FIRST(&server->connections[SERVER_DEAD]))) {
        TAILQ_REMOVE(&server->connections[SERVER_DEAD], connection, link);
        server->count[SERVER_DEAD]--;
        connection_free(connection);
    }
}

static struct rendezvous_connection *connection_of(struct waiter *waiter)
{
    return (struct rendezvous_connection *)(void *)((char *)waiter -
                                                    offsetof(struct rendezvous_connection,
                                                             http.waiter));
}

/* Returns whether anything has changed. */
static bool resume_woken(struct server *server)
{
    struct waiter *waiter = TAILQ_FIRST(&server->service.woken);
    if (server->closed || !waiter)
        return false;
    struct rendezvous_connection *connection = connection_of(waiter);
    struct wire_writer out = { 0 };
    waiter_leave(waiter);
    bool goes_on = http_session_resume(&connection->http, server->now_ms, &out);
    server_http_went(connection, goes_on, &out);
    return true;
}

void server_wake_brief(struct server *server, struct wait_list *waiters)
{
    struct waiter *next;
    for (struct waiter *at = TAILQ_FIRST(waiters); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (connection_of(at)->stream->brief)
            waiter_join(at, &server->service.woken);
    }
}

void server_enter(struct server *server, uint64_t now_ms)
{
    if (server->calls++ == 0)
        server->now_ms = now_ms;
}

void server_leave(struct server *server)
{
    if (server->calls == 1) {
        do
            server_report(server);
        while (resume_woken(server) || server_ask_again(server));
    }
    if (--server->calls > 0)
        return;
    free_dead(server);
    if (server->trim)
        job_table_trim(&server->job_table);
    server->trim = false;
}

/* Marks the connection as over. Its memory stays until server_leave(). */
static void server_mark_over(struct rendezvous_connection *connection)
{
    if (connection->job)
        server_worker_gone(connection);
    if (connection->language == SERVER_HTTP)
        waiter_leave(&connection->http.waiter);
    connection->stream = NULL;
    server_set_role(connection, SERVER_DEAD);
}

void server_end(struct rendezvous_connection *connection)
{
    struct rendezvous_stream *stream = connection->stream;
    server_mark_over(connection);
    stream->close(stream);
}

bool server_flush(struct rendezvous_connection *connection, struct wire_writer *out)
{
    bool written = !out->failed;
    if (written && out->length > 0) {
        connection->server->metrics.sent_bytes += out->length;
        connection->stream->send(connection->stream, out->data, out->length);
    }
    wire_writer_fini(out);
    return written;
}

/* Ends the connection with `end`. Its worker, if it has one, has disconnected. */
static void server_lose_connection(struct rendezvous_connection *connection,
                                   void (*end)(struct rendezvous_connection *connection))
{
    struct server *server = connection->server;
    struct rendezvous_job *job = connection->job;
    struct server_place place = connection->place;
    end(connection);
    if (job)
        server_on_broken(server, job, place);
}

void server_send_away(struct rendezvous_connection *connection)
{
    server_lose_connection(connection, server_end);
}

void server_hangup(struct rendezvous_connection *connection, uint64_t now_ms)
{
    struct server *server = connection->server;
    server_enter(server, now_ms);
    server_lose_connection(connection, server_mark_over);
    server_leave(server);
}

struct rendezvous_connection *server_accept(struct server *server, struct rendezvous_stream *stream,
                                            enum rendezvous_origin origin, uint64_t now_ms)
{
    struct rendezvous_connection *connection =
        server->closed ? NULL : calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->server = server;
    connection->stream = stream;
    connection->origin = origin;
    connection->deadline_ms = now_ms + SERVER_UNAUTHENTICATED_MS;
    server_enter(server, now_ms);
    server_make_room(server);
    server->metrics.accepted++;
    connections_add(connection, SERVER_UNAUTHENTICATED);
    server_due(server, connection->deadline_ms);
    server_leave(server);
    return connection;
}

void server_close(struct server *server)
{
    server_enter(server, server->now_ms);
    server->closed = true;
    for (int i = 0; i < SERVER_DEAD; i++)
        while (!TAILQ_EMPTY(&server->connections[i]))
            server_end(TAILQ_FIRST(&server->connections[i]));
    server_leave(server);
}

static void expire(struct rendezvous_connection *connection)
{
    struct wire_writer out = { 0 };
    bool goes_on = connection->language == SERVER_HTTP &&
                   http_session_expire(&connection->http, connection->server->now_ms, &out);
    if (!goes_on && connection->role == SERVER_UNAUTHENTICATED)
        connection->server->metrics.turned_away++;
    server_http_went(connection, goes_on, &out);
}

static void expire_all(struct server *server, struct server_connections *connections)
{
    struct rendezvous_connection *next;
    for (struct rendezvous_connection *at = TAILQ_FIRST(connections); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (at->deadline_ms <= server->now_ms)
            expire(at);
    }
}

static uint64_t search_deadline(const struct server *server)
{
    static const enum server_role timed[] = { SERVER_UNAUTHENTICATED, SERVER_CLIENT };
    uint64_t earliest = SERVER_NEVER;
    const struct rendezvous_job *job;
    const struct rendezvous_connection *at;
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        TAILQ_FOREACH(at, &server->connections[timed[i]], link)
    earliest = deadline_earlier(earliest, at->deadline_ms);
    TAILQ_FOREACH(job, &server->job_table.list, link)
    earliest = deadline_earlier(earliest, rendezvous_job_deadline(job));
    return earliest;
}

void server_tick(struct server *server, uint64_t now_ms)
{
    struct rendezvous_job *at;
    server_enter(server, now_ms);
    expire_all(server, &server->connections[SERVER_UNAUTHENTICATED]);
    expire_all(server, &server->connections[SERVER_CLIENT]);
    TAILQ_FOREACH(at, &server->job_table.list, link)
    server_job_tick(server, at);
    server_leave(server);
    server->due_ms = search_deadline(server);
}

/* With few connections and jobs the deadlines are searched, so that a running job causes no
 * wake-up. With thousands the earliest deadline is kept: a wake-up may find nothing to do, and
 * deadlines close to each other share one. */
uint64_t server_deadline(const struct server *server)
{
    int searched = server->count[SERVER_UNAUTHENTICATED] + server->count[SERVER_CLIENT] +
                   server->job_table.count;
    if (server->closed)
        return SERVER_NEVER;
    if (searched <= SERVER_SEARCHED_MAX)
        return search_deadline(server);
    return server->due_ms == SERVER_NEVER
               ? SERVER_NEVER
               : (server->due_ms / SERVER_COARSE_MS + 1) * SERVER_COARSE_MS;
}
