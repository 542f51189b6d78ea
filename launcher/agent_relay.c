/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous, offered on 127.0.0.1 of this host: each connection gets a number and its bytes
 * travel over the agent's link. Nothing is understood here. A client that has said its last word may
 * still be waiting for the answer: its connection ends when hvdrun has said its own. It ends also
 * when it breaks, or its client does not read what it is sent; while the link is full, nothing is
 * read from the connections. */
#include "launcher/agent.h"

#include "launcher/xalloc.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { RELAY_CHUNK = 64 * 1024, RELAY_QUEUE_MAX = 1 << 20, RELAY_BACKLOG = 4096 };

/* Any local user can connect: so many at once, and no more. */
enum { RELAY_STRANGERS_MAX = 512, RELAY_PER_RANK = 8 };

struct relay_connection {
    uv_tcp_t socket;
    struct agent *agent;
    uint32_t id;
    bool said_end; /* to hvdrun: the client sends no more */
    bool closing;
    struct relay_connection *next, **link; /* link: what points at this one */
};

static void on_connection_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void connection_close(struct relay_connection *connection)
{
    if (connection->closing)
        return;
    connection->closing = true;
    connection->agent->relay.count--;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    uv_close((uv_handle_t *)&connection->socket, on_connection_closed);
}

static void say_end(struct relay_connection *connection)
{
    struct agent *agent = connection->agent;
    if (connection->said_end)
        return;
    connection->said_end = true;
    wire_put_u32(frame_link_begin(&agent->link, AGENT_RELAY_END), connection->id);
    frame_link_send(&agent->link);
}

static void connection_end(struct relay_connection *connection)
{
    say_end(connection);
    connection_close(connection);
}

static void on_relay_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char chunk[RELAY_CHUNK]; /* copied into a frame before the next read */
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(chunk, sizeof chunk);
}

static void pause_all(struct agent *agent)
{
    agent->relay.paused = true;
    for (struct relay_connection *c = agent->relay.connections; c; c = c->next)
        uv_read_stop((uv_stream_t *)&c->socket);
}

static void on_relay_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    struct relay_connection *connection = stream->data;
    struct agent *agent = connection->agent;
    if (nread == UV_EOF)
        say_end(connection); /* libuv has stopped reading */
    else if (nread < 0)
        connection_end(connection);
    if (nread <= 0)
        return;
    struct wire_writer *body = frame_link_begin(&agent->link, AGENT_RELAY_DATA);
    wire_put_u32(body, connection->id);
    wire_put_bytes(body, buffer->base, (size_t)nread);
    frame_link_send(&agent->link);
    if (frame_link_queued(&agent->link) > AGENT_RELAY_QUEUE_MAX)
        pause_all(agent);
}

void agent_relay_resume(struct agent *agent)
{
    if (!agent->relay.paused)
        return;
    agent->relay.paused = false;
    for (struct relay_connection *c = agent->relay.connections; c; c = c->next)
        if (!c->said_end)
            uv_read_start((uv_stream_t *)&c->socket, on_relay_alloc, on_relay_read);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct agent *agent = listener->data;
    if (status < 0)
        return;
    struct relay_connection *connection = xcalloc(1, sizeof *connection);
    connection->agent = agent;
    connection->id = ++agent->relay.next_id;
    uv_tcp_init(agent->loop, &connection->socket);
    connection->socket.data = connection;
    connection->next = agent->relay.connections;
    connection->link = &agent->relay.connections;
    agent->relay.connections = connection;
    agent->relay.count++;
    if (connection->next)
        connection->next->link = &connection->next;
    bool too_many = agent->relay.count > RELAY_STRANGERS_MAX + RELAY_PER_RANK * agent->nranks;
    if (uv_accept(listener, (uv_stream_t *)&connection->socket) < 0 || too_many) {
        connection_close(connection);
        return;
    }
    uv_tcp_nodelay(&connection->socket, 1);
    struct agent_relay_client open = { connection->id, false };
    agent_relay_client_encode(frame_link_begin(&agent->link, AGENT_RELAY_OPEN), &open);
    frame_link_send(&agent->link);
    if (!agent->relay.paused)
        uv_read_start((uv_stream_t *)&connection->socket, on_relay_alloc, on_relay_read);
}

int agent_relay_open(struct agent *agent, struct err *err)
{
    uv_tcp_t *listener = &agent->relay.listener;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int length = sizeof address;
    uv_tcp_init(agent->loop, listener);
    listener->data = agent;
    int rc = uv_tcp_bind(listener, (struct sockaddr *)&address, 0);
    if (rc == 0)
        rc = uv_listen((uv_stream_t *)listener, RELAY_BACKLOG, on_connection);
    if (rc == 0)
        rc = uv_tcp_getsockname(listener, (struct sockaddr *)&address, &length);
    agent->relay.port = ntohs(address.sin_port);
    if (rc < 0)
        return fail(err, HVD_ERR_SYSTEM, "listen on 127.0.0.1: %s", uv_strerror(rc));
    return HVD_OK;
}

static struct relay_connection *find_connection(struct agent *agent, uint32_t id)
{
    struct relay_connection *connection = agent->relay.connections;
    while (connection && connection->id != id)
        connection = connection->next;
    return connection;
}

struct relay_write {
    uv_write_t write;
    char bytes[];
};

static void on_relay_written(uv_write_t *write, int status)
{
    struct relay_connection *connection = write->handle->data;
    free(write);
    if (status < 0 && !connection->closing)
        connection_end(connection);
}

int agent_on_relay_data(struct agent *agent, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    if (body->failed)
        return fail(err, HVD_ERR_PROTOCOL, "malformed RELAY_DATA frame");
    struct relay_connection *connection = find_connection(agent, id);
    if (!connection || body->left == 0)
        return HVD_OK; /* it has ended meanwhile */
    uv_stream_t *stream = (uv_stream_t *)&connection->socket;
    if (uv_stream_get_write_queue_size(stream) > RELAY_QUEUE_MAX) {
        connection_end(connection);
        return HVD_OK;
    }
    struct relay_write *piece = xmalloc(sizeof *piece + body->left);
    uv_buf_t buffer = uv_buf_init(piece->bytes, (unsigned)body->left);
    memcpy(piece->bytes, wire_get_bytes(body, body->left), buffer.len);
    if (uv_write(&piece->write, stream, &buffer, 1, on_relay_written) < 0) {
        free(piece);
        connection_end(connection);
    }
    return HVD_OK;
}

static void on_relay_shutdown(uv_shutdown_t *shutdown, int status)
{
    struct relay_connection *connection = shutdown->handle->data;
    (void)status;
    free(shutdown);
    connection_close(connection);
}

/* hvdrun has said its last word: it goes out, then the connection ends. */
int agent_on_relay_end(struct agent *agent, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_RELAY_END, err);
    struct relay_connection *connection = rc < 0 ? NULL : find_connection(agent, id);
    if (!connection)
        return rc;
    uv_shutdown_t *shutdown = xmalloc(sizeof *shutdown);
    if (uv_shutdown(shutdown, (uv_stream_t *)&connection->socket, on_relay_shutdown) < 0) {
        free(shutdown);
        connection_close(connection);
    }
    return HVD_OK;
}

void agent_relay_close(struct agent *agent)
{
    while (agent->relay.connections)
        connection_close(agent->relay.connections);
    if (agent->relay.listener.data && !uv_is_closing((uv_handle_t *)&agent->relay.listener))
        uv_close((uv_handle_t *)&agent->relay.listener, NULL);
}
