/* SPDX-License-Identifier: Apache-2.0 */
/* What comes in on a connection: its first bytes tell the language, then a session of that language
 * makes something of the rest. What a worker says goes to membership and roll call; HTTP is answered
 * at once. A connection that says what it must not say, or for which there is no memory, ends. */
#include "rendezvous/hub_impl.h"

static void on_hello(struct rendezvous_connection *connection, const struct join_hello *hello,
                     uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    struct err err;
    int rc = membership_join(&hub->membership, hello, now_ms, &err);
    if (rc != HVD_OK) {
        struct wire_writer out = { 0 };
        join_session_refuse(&connection->join, &out, rc, err.text);
        hub_flush(connection, &out);
        hub_end(connection);
        return;
    }
    hub_remove_stranger(connection);
    connection->rank = hello->rank;
    hub->ranks[hello->rank] = connection;
    hub_carry_out(hub, now_ms);
}

static void on_goodbye(struct rendezvous_connection *connection, const struct join_goodbye *goodbye,
                       uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    int rank = connection->rank;
    hub_end(connection);
    membership_goodbye(&hub->membership, rank, goodbye);
    hub_carry_out(hub, now_ms);
}

/* Says whether there may be more. What was wrong with a connection that ends is of no interest: a
 * stranger's mistakes are its own, a rank's end is told by its membership. */
static bool next_frame(struct rendezvous_connection *connection, uint64_t now_ms)
{
    struct join_event event;
    struct wire_writer out = { 0 };
    int rc = join_session_next(&connection->join, &event, &out, NULL);
    if (!hub_flush(connection, &out) || rc < 0)
        hub_send_away(connection, now_ms);
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
            hub_send_away(connection, now_ms);
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
    if (!hub_flush(connection, &out) || !goes_on)
        hub_end(connection);
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
    hub_enter(hub);
    size_t used = 0;
    if (connection->language == HUB_UNKNOWN) {
        used = tell_language(connection, data, length);
        if (connection->language != HUB_UNKNOWN)
            receive(connection, connection->first, connection->nfirst, now_ms);
    }
    if (connection->language != HUB_UNKNOWN)
        receive(connection, (const char *)data + used, length - used, now_ms);
    hub_leave(hub);
}
