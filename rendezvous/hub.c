/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and whom they concern; see hub.h. */
#include "rendezvous/hub.h"

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

static void enter(struct hub *hub)
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

/* The outermost call does what others have left to it. */
static void leave(struct hub *hub)
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

static void remove_stranger(struct rendezvous_connection *connection)
{
    TAILQ_REMOVE(&connection->hub->strangers, connection, link);
    connection->hub->nstrangers--;
}

/* The connection is over for us; its memory stays until leave(). */
static void bury(struct rendezvous_connection *connection)
{
    struct hub *hub = connection->hub;
    if (connection->rank >= 0)
        hub->ranks[connection->rank] = NULL;
    else
        remove_stranger(connection);
    connection->stream = NULL;
    TAILQ_INSERT_TAIL(&hub->dead, connection, link);
}

/* Ends the connection after what was sent. */
static void end(struct rendezvous_connection *connection)
{
    struct rendezvous_stream *stream = connection->stream;
    bury(connection);
    stream->close(stream);
}

/* Sends and frees what was written; false if it could not be written for want of memory. */
static bool flush(struct rendezvous_connection *connection, struct wire_writer *out)
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
    bool told = flush(connection, &out);
    if (!told || action->act == MEMBERSHIP_REFUSE)
        end(connection);
    if (!told)
        membership_broke(&hub->membership, action->rank, now_ms);
}

/* Does what the last event has made necessary; the launcher's callbacks may cause further events
 * meanwhile, and hub_close(). */
static void carry_out(struct hub *hub, uint64_t now_ms)
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
    carry_out(hub, now_ms);
}

static void send_away(struct rendezvous_connection *connection, uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    int rank = connection->rank;
    end(connection);
    broke(hub, rank, now_ms);
}

static void on_hello(struct rendezvous_connection *connection, const struct join_hello *hello,
                     uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    struct err err;
    int rc = membership_join(&hub->membership, hello, now_ms, &err);
    if (rc != HVD_OK) {
        struct wire_writer out = { 0 };
        join_session_refuse(&connection->join, &out, rc, err.text);
        flush(connection, &out);
        end(connection);
        return;
    }
    remove_stranger(connection);
    connection->rank = hello->rank;
    hub->ranks[hello->rank] = connection;
    carry_out(hub, now_ms);
}

static void on_goodbye(struct rendezvous_connection *connection, const struct join_goodbye *goodbye,
                       uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    int rank = connection->rank;
    end(connection);
    membership_goodbye(&hub->membership, rank, goodbye);
    carry_out(hub, now_ms);
}

/* Says whether there may be more. What was wrong with a connection that ends is of no interest: a
 * stranger's mistakes are its own, a rank's end is told by its membership. */
static bool next_frame(struct rendezvous_connection *connection, uint64_t now_ms)
{
    struct join_event event;
    struct wire_writer out = { 0 };
    int rc = join_session_next(&connection->join, &event, &out, NULL);
    if (!flush(connection, &out) || rc < 0)
        send_away(connection, now_ms);
    else if (rc > 0 && event.type == JOIN_HELLO)
        on_hello(connection, &event.hello, now_ms);
    else if (rc > 0 && event.type == JOIN_REPORT)
        roll_call_answer(&connection->hub->roll_call, connection->rank, event.report.text);
    else if (rc > 0)
        on_goodbye(connection, &event.goodbye, now_ms);
    return rc > 0 && connection->stream;
}

static void receive_frames(struct rendezvous_connection *connection, const char *data,
                           size_t length, uint64_t now_ms)
{
    while (length > 0 && connection->stream) {
        size_t used = join_session_take(&connection->join, data, length);
        if (used == 0) {
            send_away(connection, now_ms);
            return;
        }
        data += used;
        length -= used;
        while (next_frame(connection, now_ms))
            ;
    }
}

static void receive_http(struct rendezvous_connection *connection, const char *data, size_t length,
                         uint64_t now_ms)
{
    struct wire_writer out = { 0 };
    bool goes_on = http_session_receive(&connection->http, data, length, now_ms, &out);
    connection->deadline_ms = connection->http.deadline_ms;
    if (!flush(connection, &out) || !goes_on)
        end(connection);
}

static void receive(struct rendezvous_connection *connection, const void *data, size_t length,
                    uint64_t now_ms)
{
    if (length == 0 || !connection->stream)
        return;
    if (connection->language == HUB_HTTP)
        receive_http(connection, data, length, now_ms);
    else
        receive_frames(connection, data, length, now_ms);
}

/* HTTP unless it begins as every frame does. Takes no more bytes than it needs to tell. */
static size_t tell_language(struct rendezvous_connection *connection, const unsigned char *data,
                            size_t length)
{
    unsigned char frame[FRAME_HEADER_SIZE];
    frame_header_encode(frame, 0, 0);
    size_t used = 0;
    while (used < length && connection->language == HUB_UNKNOWN) {
        size_t at = connection->nfirst++;
        connection->first[at] = data[used++];
        if (connection->first[at] != frame[at]) {
            http_session_init(&connection->http, connection->deadline_ms);
            connection->language = HUB_HTTP;
        } else if (connection->nfirst == sizeof connection->first) {
            join_session_init(&connection->join, &connection->hub->key);
            connection->language = HUB_FRAMES;
        }
    }
    return used;
}

void hub_receive(struct rendezvous_connection *connection, const void *data, size_t length,
                 uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    enter(hub);
    size_t used = 0;
    if (connection->language == HUB_UNKNOWN) {
        used = tell_language(connection, data, length);
        if (connection->language != HUB_UNKNOWN)
            receive(connection, connection->first, connection->nfirst, now_ms);
    }
    if (connection->language != HUB_UNKNOWN)
        receive(connection, (const char *)data + used, length - used, now_ms);
    leave(hub);
}

void hub_hangup(struct rendezvous_connection *connection, uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    int rank = connection->rank;
    enter(hub);
    bury(connection);
    broke(hub, rank, now_ms);
    leave(hub);
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
        end(least_wanted(hub));
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
    enter(hub);
    make_room(hub);
    TAILQ_INSERT_TAIL(&hub->strangers, connection, link);
    hub->nstrangers++;
    leave(hub);
    return connection;
}

void hub_rank_ended(struct hub *hub, int rank, const char *how, uint64_t now_ms)
{
    enter(hub);
    membership_ended(&hub->membership, rank, how, now_ms);
    carry_out(hub, now_ms);
    leave(hub);
}

static void ask_rank(struct hub *hub, int rank, uint64_t now_ms)
{
    struct rendezvous_connection *connection = hub->ranks[rank];
    struct wire_writer out = { 0 };
    if (!connection || !roll_call_wants(&hub->roll_call, &hub->membership, rank))
        return;
    join_session_ask(&connection->join, &out, roll_call_text_size(hub->membership.size));
    if (!flush(connection, &out))
        send_away(connection, now_ms);
}

int hub_ask(struct hub *hub, uint64_t now_ms, struct err *err)
{
    if (hub->closed || roll_call_is_open(&hub->roll_call))
        return HVD_OK;
    int size = hub->membership.size;
    int rc = roll_call_start(&hub->roll_call, size, now_ms, err);
    if (rc != HVD_OK)
        return rc;
    enter(hub);
    for (int rank = 0; rank < size; rank++)
        ask_rank(hub, rank, now_ms);
    leave(hub);
    return HVD_OK;
}

void hub_close(struct hub *hub)
{
    enter(hub);
    hub->closed = true;
    while (!TAILQ_EMPTY(&hub->strangers))
        end(TAILQ_FIRST(&hub->strangers));
    for (int rank = 0; rank < hub->membership.size; rank++)
        if (hub->ranks[rank])
            end(hub->ranks[rank]);
    leave(hub);
}

static void expire(struct rendezvous_connection *connection)
{
    struct wire_writer out = { 0 };
    if (connection->language == HUB_HTTP)
        http_session_expire(&connection->http, &out);
    flush(connection, &out);
    end(connection);
}

void hub_tick(struct hub *hub, uint64_t now_ms)
{
    enter(hub);
    struct rendezvous_connection *next;
    for (struct rendezvous_connection *at = TAILQ_FIRST(&hub->strangers); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (at->deadline_ms <= now_ms)
            expire(at);
    }
    membership_tick(&hub->membership, now_ms);
    carry_out(hub, now_ms);
    roll_call_tick(&hub->roll_call, now_ms);
    leave(hub);
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
