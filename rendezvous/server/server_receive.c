/* SPDX-License-Identifier: Apache-2.0 */
/* What comes in on a connection: its first bytes tell the language, then a session of that language
 * makes something of the rest. What a worker says goes to membership and roll call; HTTP is
 * answered at once. A connection that says what it must not say, or for which there is no memory,
 * ends. */
#include "rendezvous/server/server_impl.h"

/* Says whether there may be more. What was wrong with a connection that ends is of no interest: a
 * stranger's mistakes are its own, a rank's end is told by its membership. */
static bool next_frame(struct rendezvous_connection *connection)
{
    struct join_event event;
    struct wire_writer out = { 0 };
    int rc = join_session_next(&connection->join, &event, &out, NULL);
    if (!hub_flush(connection, &out) || rc < 0)
        hub_send_away(connection);
    else if (rc > 0 && event.type == JOIN_HELLO)
        hub_on_hello(connection, &event.hello);
    else if (rc > 0 && event.type == JOIN_REPORT)
        hub_on_report(connection, &event.report);
    else if (rc > 0 && event.type == JOIN_BROKEN)
        hub_on_word(connection, &event.goodbye);
    else if (rc > 0)
        hub_on_goodbye(connection, &event.goodbye);
    return rc > 0 && connection->stream;
}

static void receive_frames(struct rendezvous_connection *connection, const char *data,
                           size_t length)
{
    while (length > 0 && connection->stream) {
        size_t used = join_session_take(&connection->join, data, length);
        if (used == 0) {
            hub_send_away(connection);
            return;
        }
        data += used;
        length -= used;
        while (next_frame(connection))
            ;
    }
}

/* Who is known makes room for strangers. */
static void become_client(struct rendezvous_connection *connection)
{
    struct hub *hub = connection->hub;
    if (connection->standing == HUB_STRANGER && connection->http.known &&
        hub->count[HUB_CLIENT] < HUB_CLIENTS_MAX)
        hub_stand(connection, HUB_CLIENT);
}

void hub_http_went(struct rendezvous_connection *connection, bool goes_on, struct wire_writer *out)
{
    if (!hub_flush(connection, out) || !goes_on) {
        hub_end(connection);
        return;
    }
    connection->deadline_ms = connection->http.deadline_ms;
    hub_due(connection->hub, connection->deadline_ms);
    become_client(connection);
}

/* The room of workers that are expected is not for long heads. */
static bool takes_room(const struct rendezvous_connection *connection)
{
    return connection->standing == HUB_STRANGER && !connection->http.known &&
           connection->hub->count[HUB_STRANGER] > HUB_STRANGERS_MAX &&
           connection->http.head.text.length > HUB_CROWDED_HEAD_MAX;
}

static void receive_http(struct rendezvous_connection *connection, const char *data, size_t length)
{
    struct wire_writer out = { 0 };
    bool goes_on =
        http_session_receive(&connection->http, data, length, connection->hub->now_ms, &out);
    if (goes_on && takes_room(connection)) {
        connection->hub->metrics.turned_away++;
        goes_on = false;
    }
    hub_http_went(connection, goes_on, &out);
}

static void receive(struct rendezvous_connection *connection, const void *data, size_t length)
{
    if (length == 0 || !connection->stream)
        return;
    if (connection->language == HUB_HTTP)
        receive_http(connection, data, length);
    else
        receive_frames(connection, data, length);
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
            http_session_init(&connection->http, &connection->hub->service,
                              &connection->hub->keyring, connection->origin,
                              connection->deadline_ms);
            connection->language = HUB_HTTP;
        } else if (connection->nfirst == sizeof connection->first) {
            join_session_init(&connection->join, &connection->hub->keyring);
            connection->language = HUB_FRAMES;
        }
    }
    return used;
}

void hub_receive(struct rendezvous_connection *connection, const void *data, size_t length,
                 uint64_t now_ms)
{
    struct hub *hub = connection->hub;
    hub_enter(hub, now_ms);
    hub->metrics.received_bytes += length;
    size_t used = 0;
    if (connection->language == HUB_UNKNOWN) {
        used = tell_language(connection, data, length);
        if (connection->language != HUB_UNKNOWN)
            receive(connection, connection->first, connection->nfirst);
    }
    if (connection->language != HUB_UNKNOWN)
        receive(connection, (const char *)data + used, length - used);
    hub_leave(hub);
}
