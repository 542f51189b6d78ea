/* SPDX-License-Identifier: Apache-2.0 */
/* Input of a connection: its first bytes select the protocol, then a session of that protocol
 * parses the rest. Messages of a worker go to membership and rank query; HTTP requests are
 * answered at once. A connection that violates its protocol, or for which memory runs out,
 * ends. */
#include "rendezvous/server/server_impl.h"

/* Returns whether there may be another frame. The error of a connection that ends is dropped:
 * the mistake of an unauthenticated client is not reported, and the end of a rank is reported by
 * its membership. */
static bool next_frame(struct rendezvous_connection *connection)
{
    struct join_event event;
    struct wire_writer out = { 0 };
    int rc = join_session_next(&connection->join, &event, &out, NULL);
    if (!server_flush(connection, &out) || rc < 0)
        server_send_away(connection);
    else if (rc > 0 && event.type == JOIN_HELLO)
        server_on_hello(connection, &event.hello);
    else if (rc > 0 && event.type == JOIN_REPORT)
        server_on_report(connection, &event.report);
    else if (rc > 0 && event.type == JOIN_BROKEN)
        server_on_word(connection, &event.goodbye);
    else if (rc > 0)
        server_on_goodbye(connection, &event.goodbye);
    return rc > 0 && connection->stream;
}

static void receive_frames(struct rendezvous_connection *connection, const char *data,
                           size_t length)
{
    while (length > 0 && connection->stream) {
        size_t used = join_session_take(&connection->join, data, length);
        if (used == 0) {
            server_send_away(connection);
            return;
        }
        data += used;
        length -= used;
        while (next_frame(connection))
            ;
    }
}

/* A client that has authenticated no longer counts as an unauthenticated one. */
static void become_client(struct rendezvous_connection *connection)
{
    struct server *server = connection->server;
    if (connection->role == SERVER_UNAUTHENTICATED && connection->http.known &&
        server->count[SERVER_CLIENT] < SERVER_CLIENTS_MAX)
        server_set_role(connection, SERVER_CLIENT);
}

void server_http_went(struct rendezvous_connection *connection, bool goes_on,
                      struct wire_writer *out)
{
    if (!connection->stream) { /* a callback of the launcher's has closed the server */
        wire_writer_fini(out);
        return;
    }
    if (!server_flush(connection, out) || !goes_on) {
        server_end(connection);
        return;
    }
    connection->deadline_ms = connection->http.deadline_ms;
    server_due(connection->server, connection->deadline_ms);
    become_client(connection);
}

/* The room of workers that are expected is not for long heads. */
static bool takes_room(const struct rendezvous_connection *connection)
{
    return connection->role == SERVER_UNAUTHENTICATED && !connection->http.known &&
           connection->server->count[SERVER_UNAUTHENTICATED] > SERVER_UNAUTHENTICATED_MAX &&
           connection->http.head.text.length > SERVER_CROWDED_HEAD_MAX;
}

static void receive_http(struct rendezvous_connection *connection, const char *data, size_t length)
{
    struct wire_writer out = { 0 };
    bool goes_on =
        http_session_receive(&connection->http, data, length, connection->server->now_ms, &out);
    if (goes_on && takes_room(connection)) {
        connection->server->metrics.turned_away++;
        goes_on = false;
    }
    server_http_went(connection, goes_on, &out);
}

static void server_receive_bytes(struct rendezvous_connection *connection, const void *data,
                                 size_t length)
{
    if (length == 0 || !connection->stream)
        return;
    if (connection->language == SERVER_HTTP)
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
    while (used < length && connection->language == SERVER_UNKNOWN) {
        size_t at = connection->nfirst++;
        connection->first[at] = data[used++];
        if (connection->first[at] != frame[at]) {
            http_session_init(&connection->http, &connection->server->service,
                              &connection->server->keyring, connection->origin,
                              connection->deadline_ms);
            connection->http.first_worker = connection->stream->worker;
            connection->http.workers = connection->stream->workers;
            connection->language = SERVER_HTTP;
        } else if (connection->nfirst == sizeof connection->first) {
            join_session_init(&connection->join, &connection->server->keyring);
            connection->language = SERVER_FRAMES;
        }
    }
    return used;
}

void server_receive(struct rendezvous_connection *connection, const void *data, size_t length,
                    uint64_t now_ms)
{
    struct server *server = connection->server;
    server_enter(server, now_ms);
    server->metrics.received_bytes += length;
    size_t used = 0;
    if (connection->language == SERVER_UNKNOWN) {
        used = tell_language(connection, data, length);
        if (connection->language != SERVER_UNKNOWN)
            server_receive_bytes(connection, connection->first, connection->nfirst);
    }
    if (connection->language != SERVER_UNKNOWN)
        server_receive_bytes(connection, (const char *)data + used, length - used);
    server_leave(server);
}
