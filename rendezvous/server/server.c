/* SPDX-License-Identifier: Apache-2.0 */
/* Connections, their standing and their time; see hub.h. What they say is in hub_receive.c, what
 * that does to a job in hub_meeting.c and hub_roll_call.c. */
#include "rendezvous/server/server_impl.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* So many deadlines may be looked at after each event. */
enum { HUB_SEARCHED_MAX = 32 };

static void init(struct hub *hub, const struct job_key *key, uint64_t epoch_ms, uint64_t now_ms)
{
    static const struct http_workers workers = { .ask = hub_ask_meeting, .end = hub_end_meeting };
    *hub = (struct hub){ .keyring.key = *key, .due_ms = HUB_NEVER };
    hub->service = (struct http_service){ .meetings = &hub->meetings,
                                          .metrics = &hub->metrics,
                                          .workers = &workers,
                                          .epoch_ms = epoch_ms };
    hub->metrics.started_ms = epoch_ms + now_ms;
    TAILQ_INIT(&hub->service.woken);
    for (int i = 0; i < HUB_STANDINGS; i++)
        TAILQ_INIT(&hub->connections[i]);
}

int hub_init(struct hub *hub, const struct rendezvous_options *options, uint64_t epoch_ms,
             uint64_t now_ms, struct err *err)
{
    init(hub, options->key, epoch_ms, now_ms);
    hub->events = options->events;
    hub->context = options->context;
    memcpy(hub->keyring.job, options->id, strlen(options->id) + 1);
    meetings_init(&hub->meetings, 1, options->start_timeout_ms);
    struct meeting *meeting = meeting_create_planned(options, now_ms, err);
    if (!meeting) {
        hub_fini(hub);
        return HVD_ERR_NOMEM;
    }
    meetings_add_planned(&hub->meetings, meeting);
    return HVD_OK;
}

void hub_init_service(struct hub *hub, const struct rendezvous_service_options *options,
                      uint64_t epoch_ms, uint64_t now_ms)
{
    init(hub, options->key, epoch_ms, now_ms);
    hub->keyring.service = true;
    hub->say = options->say;
    hub->context = options->context;
    meetings_init(&hub->meetings, options->max_jobs, options->start_timeout_ms);
    hub->connections_max = options->connections_max;
    hub->service.coming.max = options->memory_max / 4;
    hub->meetings.values.max = options->memory_max - options->memory_max / 4;
}

void hub_fini(struct hub *hub)
{
    meetings_fini(&hub->meetings);
    keyring_wipe(&hub->keyring);
}

struct hub *hub_of(struct http_service *service)
{
    return (struct hub *)(void *)((char *)service - offsetof(struct hub, service));
}

void hub_due(struct hub *hub, uint64_t deadline_ms)
{
    if (deadline_ms < hub->due_ms)
        hub->due_ms = deadline_ms;
}

static enum metrics_kind kind_of(enum hub_standing standing)
{
    return standing == HUB_STRANGER ? METRICS_STRANGER
           : standing == HUB_CLIENT ? METRICS_HTTP
                                    : METRICS_WORKER;
}

static void stand_up(struct rendezvous_connection *connection)
{
    struct hub *hub = connection->hub;
    TAILQ_REMOVE(&hub->connections[connection->standing], connection, link);
    hub->count[connection->standing]--;
    hub->metrics.open[kind_of(connection->standing)]--;
}

static void sit_down(struct rendezvous_connection *connection, enum hub_standing standing)
{
    struct hub *hub = connection->hub;
    connection->standing = standing;
    TAILQ_INSERT_TAIL(&hub->connections[standing], connection, link);
    hub->count[standing]++;
    if (standing != HUB_DEAD)
        hub->metrics.open[kind_of(standing)]++;
}

void hub_stand(struct rendezvous_connection *connection, enum hub_standing standing)
{
    stand_up(connection);
    sit_down(connection, standing);
}

static void connection_free(struct rendezvous_connection *connection)
{
    if (connection->language == HUB_HTTP)
        http_session_fini(&connection->http);
    if (connection->language == HUB_FRAMES)
        join_session_fini(&connection->join);
    free(connection);
}

static void free_dead(struct hub *hub)
{
    struct rendezvous_connection *connection;
    while ((connection = TAILQ_FIRST(&hub->connections[HUB_DEAD]))) {
        TAILQ_REMOVE(&hub->connections[HUB_DEAD], connection, link);
        hub->count[HUB_DEAD]--;
        connection_free(connection);
    }
}

static struct rendezvous_connection *connection_of(struct waiter *waiter)
{
    return (struct rendezvous_connection *)(void *)((char *)waiter -
                                                    offsetof(struct rendezvous_connection,
                                                             http.waiter));
}

/* Says whether anything has happened. */
static bool resume_woken(struct hub *hub)
{
    struct waiter *waiter = TAILQ_FIRST(&hub->service.woken);
    if (hub->closed || !waiter)
        return false;
    struct rendezvous_connection *connection = connection_of(waiter);
    struct wire_writer out = { 0 };
    waiter_leave(waiter);
    bool goes_on = http_session_resume(&connection->http, hub->now_ms, &out);
    hub_http_went(connection, goes_on, &out);
    return true;
}

void hub_wake_brief(struct hub *hub, struct wait_list *waiters)
{
    struct waiter *next;
    for (struct waiter *at = TAILQ_FIRST(waiters); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (connection_of(at)->stream->brief)
            waiter_join(at, &hub->service.woken);
    }
}

void hub_enter(struct hub *hub, uint64_t now_ms)
{
    if (hub->calls++ == 0)
        hub->now_ms = now_ms;
}

void hub_leave(struct hub *hub)
{
    if (hub->calls == 1) {
        do
            hub_report(hub);
        while (resume_woken(hub) || hub_ask_again(hub));
    }
    if (--hub->calls > 0)
        return;
    free_dead(hub);
    if (hub->trim)
        meetings_trim(&hub->meetings);
    hub->trim = false;
}

/* The connection is over for us; its memory stays until hub_leave(). */
static void bury(struct rendezvous_connection *connection)
{
    if (connection->meeting)
        hub_worker_gone(connection);
    if (connection->language == HUB_HTTP)
        waiter_leave(&connection->http.waiter);
    connection->stream = NULL;
    hub_stand(connection, HUB_DEAD);
}

void hub_end(struct rendezvous_connection *connection)
{
    struct rendezvous_stream *stream = connection->stream;
    bury(connection);
    stream->close(stream);
}

bool hub_flush(struct rendezvous_connection *connection, struct wire_writer *out)
{
    bool written = !out->failed;
    if (written && out->length > 0) {
        connection->hub->metrics.sent_bytes += out->length;
        connection->stream->send(connection->stream, out->data, out->length);
    }
    wire_writer_fini(out);
    return written;
}

/* Its worker, if it is one, has broken off. */
static void over(struct rendezvous_connection *connection,
                 void (*end)(struct rendezvous_connection *connection))
{
    struct hub *hub = connection->hub;
    struct meeting *meeting = connection->meeting;
    int rank = connection->rank, guest = connection->guest;
    end(connection);
    if (meeting)
        hub_on_broken(hub, meeting, rank, guest);
}

void hub_send_away(struct rendezvous_connection *connection)
{
    over(connection, hub_end);
}

void hub_hangup(struct rendezvous_connection *connection, uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    hub_enter(hub, now_ms);
    over(connection, bury);
    hub_leave(hub);
}

static bool has_said_open(const struct rendezvous_connection *stranger)
{
    return stranger->language == HUB_FRAMES && stranger->join.state == JOIN_SESSION_CHALLENGED;
}

/* Who has said OPEN is probably a worker whose HELLO is on its way. */
static struct rendezvous_connection *least_wanted(struct hub *hub)
{
    struct rendezvous_connection *at;
    TAILQ_FOREACH(at, &hub->connections[HUB_STRANGER], link)
    if (!has_said_open(at))
        return at;
    return TAILQ_FIRST(&hub->connections[HUB_STRANGER]);
}

/* Workers that jobs still wait for, as many as one job may have: who declares jobs must not give
 * strangers more room than that. */
static int expected(const struct hub *hub)
{
    int64_t workers = 0;
    const struct meeting *at;
    TAILQ_FOREACH(at, &hub->meetings.list, link)
    workers += meeting_expects(at);
    return workers < WORLD_SIZE_MAX ? (int)workers : WORLD_SIZE_MAX;
}

/* For strangers. */
static int room(const struct hub *hub)
{
    int wanted = HUB_STRANGERS_MAX;
    int left = hub->connections_max - hub->count[HUB_CLIENT] - hub->count[HUB_WORKER];
    if (hub->count[HUB_STRANGER] >= HUB_STRANGERS_MAX)
        wanted += expected(hub);
    if (hub->connections_max == 0 || left >= wanted)
        return wanted;
    return left > HUB_STRANGERS_MIN ? left : HUB_STRANGERS_MIN;
}

static void make_room(struct hub *hub)
{
    if (hub->count[HUB_STRANGER] < HUB_STRANGERS_MIN)
        return;
    for (int most = room(hub); hub->count[HUB_STRANGER] >= most;) {
        hub->metrics.turned_away++;
        hub_end(least_wanted(hub));
    }
}

struct rendezvous_connection *hub_accept(struct hub *hub, struct rendezvous_stream *stream,
                                         enum rendezvous_origin origin, uint64_t now_ms)
{
    struct rendezvous_connection *connection = hub->closed ? NULL : calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->hub = hub;
    connection->stream = stream;
    connection->origin = origin;
    connection->rank = connection->guest = -1;
    connection->deadline_ms = now_ms + HUB_STRANGER_MS;
    hub_enter(hub, now_ms);
    make_room(hub);
    hub->metrics.accepted++;
    sit_down(connection, HUB_STRANGER);
    hub_due(hub, connection->deadline_ms);
    hub_leave(hub);
    return connection;
}

void hub_close(struct hub *hub)
{
    hub_enter(hub, hub->now_ms);
    hub->closed = true;
    for (int i = 0; i < HUB_DEAD; i++)
        while (!TAILQ_EMPTY(&hub->connections[i]))
            hub_end(TAILQ_FIRST(&hub->connections[i]));
    hub_leave(hub);
}

static void expire(struct rendezvous_connection *connection)
{
    struct wire_writer out = { 0 };
    bool goes_on = connection->language == HUB_HTTP &&
                   http_session_expire(&connection->http, connection->hub->now_ms, &out);
    if (!goes_on && connection->standing == HUB_STRANGER)
        connection->hub->metrics.turned_away++;
    hub_http_went(connection, goes_on, &out);
}

static void expire_all(struct hub *hub, struct hub_connections *connections)
{
    struct rendezvous_connection *next;
    for (struct rendezvous_connection *at = TAILQ_FIRST(connections); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (at->deadline_ms <= hub->now_ms)
            expire(at);
    }
}

static uint64_t search_deadline(const struct hub *hub)
{
    static const enum hub_standing timed[] = { HUB_STRANGER, HUB_CLIENT };
    uint64_t earliest = HUB_NEVER;
    const struct meeting *meeting;
    const struct rendezvous_connection *at;
    for (size_t i = 0; i < sizeof timed / sizeof *timed; i++)
        TAILQ_FOREACH(at, &hub->connections[timed[i]], link)
    earliest = earlier_deadline(earliest, at->deadline_ms);
    TAILQ_FOREACH(meeting, &hub->meetings.list, link)
    earliest = earlier_deadline(earliest, meeting_deadline(meeting));
    return earliest;
}

void hub_tick(struct hub *hub, uint64_t now_ms)
{
    struct meeting *at;
    hub_enter(hub, now_ms);
    expire_all(hub, &hub->connections[HUB_STRANGER]);
    expire_all(hub, &hub->connections[HUB_CLIENT]);
    TAILQ_FOREACH(at, &hub->meetings.list, link)
    hub_meeting_tick(hub, at);
    hub_leave(hub);
    hub->due_ms = search_deadline(hub);
}

/* Searched while that is quick, so that a job at work wakes nobody. Of thousands the earliest is
 * kept, one wake-up may find nothing to do, and those that come close together share one. */
uint64_t hub_deadline(const struct hub *hub)
{
    int searched = hub->count[HUB_STRANGER] + hub->count[HUB_CLIENT] + hub->meetings.count;
    if (hub->closed)
        return HUB_NEVER;
    if (searched <= HUB_SEARCHED_MAX)
        return search_deadline(hub);
    return hub->due_ms == HUB_NEVER ? HUB_NEVER : (hub->due_ms / HUB_COARSE_MS + 1) * HUB_COARSE_MS;
}
