/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and whom they concern; see hub.h. What they say is in hub_receive.c. */
#include "rendezvous/hub_impl.h"

#include <stdlib.h>
#include <string.h>

int hub_init(struct hub *hub, const struct rendezvous_options *options, struct err *err)
{
    *hub = (struct hub){
        .key = *options->key,
        .events = options->events,
        .context = options->context,
        .ranks = calloc((size_t)options->size, sizeof *hub->ranks),
    };
    TAILQ_INIT(&hub->strangers);
    TAILQ_INIT(&hub->dead);
    int rc = hub->ranks ? membership_init(&hub->membership, options->slots, options->size,
                                          options->start_timeout_ms, err)
                        : fail(err, HVD_ERR_NOMEM, "out of memory for %d ranks", options->size);
    if (rc != HVD_OK)
        hub_fini(hub);
    return rc;
}

void hub_fini(struct hub *hub)
{
    roll_call_fini(&hub->roll_call);
    membership_fini(&hub->membership);
    job_key_wipe(&hub->key);
    free(hub->ranks);
    hub->ranks = NULL;
}

void hub_enter(struct hub *hub)
{
    hub->calls++;
}

static void connection_free(struct rendezvous_connection *connection)
{
    if (connection->language == HUB_HTTP)
        http_session_fini(&connection->http);
    if (connection->language == HUB_FRAMES)
        join_session_fini(&connection->join);
    free(connection);
}

/* Whatever has happened may have settled what a rank's text is. */
static void report(struct hub *hub)
{
    int rank;
    const char *text;
    while (!hub->closed && roll_call_next(&hub->roll_call, &hub->membership, &rank, &text))
        hub->events.report(hub->context, rank, text);
}

void hub_leave(struct hub *hub)
{
    if (hub->calls == 1)
        report(hub);
    if (--hub->calls > 0)
        return;
    struct rendezvous_connection *connection;
    while ((connection = TAILQ_FIRST(&hub->dead))) {
        TAILQ_REMOVE(&hub->dead, connection, link);
        connection_free(connection);
    }
}

void hub_remove_stranger(struct rendezvous_connection *connection)
{
    TAILQ_REMOVE(&connection->hub->strangers, connection, link);
    connection->hub->nstrangers--;
}

/* The connection is over for us; its memory stays until hub_leave(). */
static void bury(struct rendezvous_connection *connection)
{
    struct hub *hub = connection->hub;
    if (connection->rank >= 0)
        hub->ranks[connection->rank] = NULL;
    else
        hub_remove_stranger(connection);
    connection->stream = NULL;
    TAILQ_INSERT_TAIL(&hub->dead, connection, link);
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
    if (written && out->length > 0)
        connection->stream->send(connection->stream, out->data, out->length);
    wire_writer_fini(out);
    return written;
}

static void put_message(struct hub *hub, const struct membership_action *action,
                        struct join_session *session, struct wire_writer *out)
{
    struct join_welcome welcome;
    if (action->act == MEMBERSHIP_WELCOME) {
        membership_welcome(&hub->membership, action->rank, &welcome);
        join_session_welcome(session, out, &welcome);
    } else if (action->act == MEMBERSHIP_REFUSE) {
        join_session_refuse(session, out, action->cause->status, action->cause->text);
    } else {
        join_session_news(session, out, action->cause);
    }
}

static void tell_rank(struct hub *hub, const struct membership_action *action, uint64_t now_ms)
{
    struct rendezvous_connection *connection = hub->ranks[action->rank];
    if (!connection)
        return;
    struct wire_writer out = { 0 };
    put_message(hub, action, &connection->join, &out);
    bool told = hub_flush(connection, &out);
    if (!told || action->act == MEMBERSHIP_REFUSE)
        hub_end(connection);
    if (!told)
        membership_broke(&hub->membership, action->rank, now_ms);
}

void hub_carry_out(struct hub *hub, uint64_t now_ms)
{
    struct membership_action action;
    while (!hub->closed && membership_next(&hub->membership, &action)) {
        if (action.act == MEMBERSHIP_COMPLETE)
            hub->events.complete(hub->context);
        else if (action.act == MEMBERSHIP_TIMED_OUT)
            hub->events.timed_out(hub->context, action.cause->text);
        else
            tell_rank(hub, &action, now_ms);
    }
}

/* The connection of a rank without GOODBYE, or a stranger's, is over. */
static void broke(struct hub *hub, int rank, uint64_t now_ms)
{
    if (rank < 0)
        return;
    membership_broke(&hub->membership, rank, now_ms);
    hub_carry_out(hub, now_ms);
}

void hub_send_away(struct rendezvous_connection *connection, uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    int rank = connection->rank;
    hub_end(connection);
    broke(hub, rank, now_ms);
}

void hub_hangup(struct rendezvous_connection *connection, uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    int rank = connection->rank;
    hub_enter(hub);
    bury(connection);
    broke(hub, rank, now_ms);
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
    TAILQ_FOREACH(at, &hub->strangers, link)
    if (!has_said_open(at))
        return at;
    return TAILQ_FIRST(&hub->strangers);
}

static void make_room(struct hub *hub)
{
    int expected = hub->membership.size - hub->membership.joined;
    while (hub->nstrangers >= HUB_STRANGERS_MAX + expected)
        hub_end(least_wanted(hub));
}

struct rendezvous_connection *hub_accept(struct hub *hub, struct rendezvous_stream *stream,
                                         uint64_t now_ms)
{
    struct rendezvous_connection *connection = hub->closed ? NULL : calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->hub = hub;
    connection->stream = stream;
    connection->rank = -1;
    connection->deadline_ms = now_ms + HUB_STRANGER_MS;
    hub_enter(hub);
    make_room(hub);
    TAILQ_INSERT_TAIL(&hub->strangers, connection, link);
    hub->nstrangers++;
    hub_leave(hub);
    return connection;
}

void hub_rank_ended(struct hub *hub, int rank, const char *how, uint64_t now_ms)
{
    hub_enter(hub);
    membership_ended(&hub->membership, rank, how, now_ms);
    hub_carry_out(hub, now_ms);
    hub_leave(hub);
}

static void ask_rank(struct hub *hub, int rank, uint64_t now_ms)
{
    struct rendezvous_connection *connection = hub->ranks[rank];
    struct wire_writer out = { 0 };
    if (!connection || !roll_call_wants(&hub->roll_call, &hub->membership, rank))
        return;
    join_session_ask(&connection->join, &out, roll_call_text_size(hub->membership.size));
    if (!hub_flush(connection, &out))
        hub_send_away(connection, now_ms);
}

int hub_ask(struct hub *hub, uint64_t now_ms, struct err *err)
{
    if (hub->closed || roll_call_is_open(&hub->roll_call))
        return HVD_OK;
    int size = hub->membership.size;
    int rc = roll_call_start(&hub->roll_call, size, now_ms, err);
    if (rc != HVD_OK)
        return rc;
    hub_enter(hub);
    for (int rank = 0; rank < size; rank++)
        ask_rank(hub, rank, now_ms);
    hub_leave(hub);
    return HVD_OK;
}

void hub_close(struct hub *hub)
{
    hub_enter(hub);
    hub->closed = true;
    while (!TAILQ_EMPTY(&hub->strangers))
        hub_end(TAILQ_FIRST(&hub->strangers));
    for (int rank = 0; rank < hub->membership.size; rank++)
        if (hub->ranks[rank])
            hub_end(hub->ranks[rank]);
    hub_leave(hub);
}

static void expire(struct rendezvous_connection *connection)
{
    struct wire_writer out = { 0 };
    if (connection->language == HUB_HTTP)
        http_session_expire(&connection->http, &out);
    hub_flush(connection, &out);
    hub_end(connection);
}

void hub_tick(struct hub *hub, uint64_t now_ms)
{
    hub_enter(hub);
    struct rendezvous_connection *next;
    for (struct rendezvous_connection *at = TAILQ_FIRST(&hub->strangers); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (at->deadline_ms <= now_ms)
            expire(at);
    }
    membership_tick(&hub->membership, now_ms);
    hub_carry_out(hub, now_ms);
    roll_call_tick(&hub->roll_call, now_ms);
    hub_leave(hub);
}

uint64_t hub_deadline(const struct hub *hub)
{
    if (hub->closed)
        return HUB_NEVER;
    uint64_t earliest = membership_deadline(&hub->membership);
    if (roll_call_deadline(&hub->roll_call) < earliest)
        earliest = roll_call_deadline(&hub->roll_call);
    const struct rendezvous_connection *at;
    TAILQ_FOREACH(at, &hub->strangers, link)
    if (at->deadline_ms < earliest)
        earliest = at->deadline_ms;
    return earliest;
}
