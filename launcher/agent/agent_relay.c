/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous on 127.0.0.1 of this host. Each connection gets a number. The agent reports to
 * hvdrun whether the client belongs to the agent's own user, according to the kernel, and relays
 * the bytes over its link without reading any meaning into them. A client that has closed its
 * sending side may still wait for the answer, so its connection ends only when hvdrun has ended its
 * side. The connection also ends when it breaks, or when the client does not read its answer
 * (agent_relay_answer.c). While the link is full, the agent reads nothing from the connections. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/xalloc.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

enum { RELAY_CHUNK = 64 * 1024, RELAY_BACKLOG = 4096 };

/* The part of an answer that the kernel buffers: more would only hide that a client does not
 * read. */
enum { RELAY_SEND_BUFFER = 256 * 1024 };

/* The most connections, because any local user can connect. Connections of the agent's own user are
 * counted apart, so that unauthenticated clients take no rank's place. */
enum { RELAY_CONNECTIONS = 512, RELAY_PER_RANK = 8 };

/* The most connections accepted in one iteration of the loop, which has other things to do. */
enum { RELAY_TURN = 64 };

unsigned agent_relay_limit(const struct agent *agent)
{
    return RELAY_CONNECTIONS + RELAY_PER_RANK * (unsigned)agent->ranks.count;
}

/* ---- connections by number: as many lists as there may be connections ---- */

static struct relay_connection **list_of(const struct agent *agent, uint32_t id)
{
    return &agent->relay.table[id % agent->relay.limit];
}

struct relay_connection *relay_connection_find(const struct agent *agent, uint32_t id)
{
    struct relay_connection *connection = agent->relay.table ? *list_of(agent, id) : NULL;
    while (connection && connection->id != id)
        connection = connection->next_in_table;
    return connection;
}

static void enlist(struct relay_connection *connection)
{
    struct agent_relay *relay = &connection->agent->relay;
    do
        connection->id = ++relay->last_id;
    while (relay_connection_find(connection->agent, connection->id));
    struct relay_connection **list = list_of(connection->agent, connection->id);
    connection->next_in_table = *list;
    *list = connection;
    connection->next = relay->connections;
    connection->link = &relay->connections;
    if (connection->next)
        connection->next->link = &connection->next;
    relay->connections = connection;
    relay->counts[connection->own]++;
}

static void delist(struct relay_connection *connection)
{
    struct relay_connection **at = list_of(connection->agent, connection->id);
    while (*at != connection)
        at = &(*at)->next_in_table;
    *at = connection->next_in_table;
    *connection->link = connection->next;
    if (connection->next)
        connection->next->link = connection->link;
    connection->agent->relay.counts[connection->own]--;
}

/* ---- the end of connections ---- */

static void on_connection_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void relay_connection_close(struct relay_connection *connection)
{
    if (connection->closing)
        return;
    connection->closing = true;
    delist(connection);
    uv_close((uv_handle_t *)&connection->socket, on_connection_closed);
}

static void agent_relay_say_end(struct relay_connection *connection)
{
    struct agent *agent = connection->agent;
    if (connection->said_end)
        return;
    connection->said_end = true;
    wire_put_u32(frame_link_begin(&agent->link, AGENT_RELAY_END), connection->id);
    frame_link_send(&agent->link);
}

void relay_connection_end(struct relay_connection *connection)
{
    agent_relay_say_end(connection);
    relay_connection_close(connection);
}

/* ---- bytes of clients ---- */

static void on_relay_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char chunk[RELAY_CHUNK]; /* copied into a frame before the next read */
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(chunk, sizeof chunk);
}

static void listen_to_all(struct agent *agent)
{
    for (struct relay_connection *c = agent->relay.connections; c; c = c->next)
        relay_connection_listen(c);
}

static void agent_relay_pass_on(const struct relay_connection *connection, const void *data,
                                size_t length)
{
    struct agent *agent = connection->agent;
    struct wire_writer *body = frame_link_begin(&agent->link, AGENT_RELAY_DATA);
    body->secret = true; /* clients may show a key */
    wire_put_u32(body, connection->id);
    wire_put_bytes(body, data, length);
    frame_link_send(&agent->link);
}

static void on_relay_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    struct relay_connection *connection = stream->data;
    struct agent *agent = connection->agent;
    if (nread == UV_EOF)
        agent_relay_say_end(connection); /* libuv has stopped reading */
    else if (nread < 0)
        relay_connection_end(connection);
    if (nread <= 0)
        return;
    agent_relay_pass_on(connection, buffer->base, (size_t)nread);
    if (frame_link_queued(&agent->link) <= AGENT_RELAY_QUEUE_MAX || agent->relay.paused)
        return;
    agent->relay.paused = true;
    listen_to_all(agent);
}

void relay_connection_listen(struct relay_connection *connection)
{
    uv_stream_t *stream = (uv_stream_t *)&connection->socket;
    if (connection->said_end || connection->behind || connection->agent->relay.paused)
        uv_read_stop(stream);
    else
        uv_read_start(stream, on_relay_alloc, on_relay_read);
}

void agent_relay_resume(struct agent *agent)
{
    if (!agent->relay.paused)
        return;
    agent->relay.paused = false;
    listen_to_all(agent);
}

/* Reads to the end of file, which tells of a rank that disconnects. On an error this stops, and
 * libuv will report the error. */
static void take_rest(struct relay_connection *connection)
{
    static char chunk[RELAY_CHUNK];
    const struct agent *agent = connection->agent;
    uv_os_fd_t fd;
    ssize_t n = -1;
    if (connection->said_end || uv_fileno((uv_handle_t *)&connection->socket, &fd) < 0)
        return;
    while (frame_link_queued(&agent->link) <= AGENT_RELAY_QUEUE_MAX &&
           (n = recv(fd, chunk, sizeof chunk, MSG_DONTWAIT)) > 0)
        agent_relay_pass_on(connection, chunk, (size_t)n);
    if (n == 0) {
        agent_relay_say_end(connection);
        relay_connection_listen(connection);
    }
}

void agent_relay_take_rest(struct agent *agent)
{
    for (struct relay_connection *c = agent->relay.connections; c && agent->relay.table;
         c = c->next)
        take_rest(c);
}

/* ---- the beginning of connections ---- */

static bool is_own(struct relay_connection *connection)
{
    uv_os_fd_t fd;
    uid_t uid;
    return uv_fileno((uv_handle_t *)&connection->socket, &fd) == 0 &&
           socket_owner_find(&connection->agent->relay.owner, fd, &uid) && uid == geteuid();
}

static void agent_relay_begin(struct relay_connection *connection)
{
    struct agent *agent = connection->agent;
    struct agent_relay_client client = { .own = connection->own };
    int size = RELAY_SEND_BUFFER;
    enlist(connection);
    client.id = connection->id;
    uv_tcp_nodelay(&connection->socket, 1);
    uv_send_buffer_size((uv_handle_t *)&connection->socket, &size);
    agent_relay_client_encode(frame_link_begin(&agent->link, AGENT_RELAY_OPEN), &client);
    frame_link_send(&agent->link);
    relay_connection_listen(connection);
}

/* Finding the owner costs a question to the kernel, or reading much of /proc, so this check comes
 * first. */
static bool may_begin(struct relay_connection *connection)
{
    const struct agent_relay *relay = &connection->agent->relay;
    if (relay->counts[false] >= relay->limit && relay->counts[true] >= relay->limit)
        return false;
    connection->own = is_own(connection);
    return relay->counts[connection->own] < relay->limit;
}

static void accept_one(struct agent *agent)
{
    struct relay_connection *connection = xcalloc(1, sizeof *connection);
    connection->agent = agent;
    uv_tcp_init(agent->loop, &connection->socket);
    connection->socket.data = connection;
    int rc = uv_accept((uv_stream_t *)&agent->relay.listener, (uv_stream_t *)&connection->socket);
    if (rc == 0 && may_begin(connection))
        agent_relay_begin(connection);
    else
        uv_close((uv_handle_t *)&connection->socket, on_connection_closed);
}

/* The next iteration of the loop: accepts the connection for which the last had no room, so that
 * libuv accepts others. */
static void on_agent_relay_turn(uv_idle_t *turn)
{
    struct agent *agent = turn->data;
    bool full = agent->relay.accepted == RELAY_TURN;
    agent->relay.accepted = 0;
    uv_idle_stop(turn);
    if (full)
        accept_one(agent);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct agent *agent = listener->data;
    if (status < 0)
        return;
    uv_idle_start(&agent->relay.turn, on_agent_relay_turn);
    if (++agent->relay.accepted < RELAY_TURN) /* libuv pauses until the connection is accepted */
        accept_one(agent);
}

int agent_relay_open(struct agent *agent, struct err *err)
{
    uv_tcp_t *listener = &agent->relay.listener;
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int length = sizeof address;
    agent->relay.limit = agent_relay_limit(agent);
    agent->relay.table = xcalloc(agent->relay.limit, sizeof *agent->relay.table);
    socket_owner_init(&agent->relay.owner);
    relay_answer_init(agent);
    uv_idle_init(agent->loop, &agent->relay.turn);
    agent->relay.turn.data = agent;
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

void agent_relay_close(struct agent *agent)
{
    struct agent_relay *relay = &agent->relay;
    if (!relay->table)
        return;
    while (relay->connections)
        relay_connection_close(relay->connections);
    uv_close((uv_handle_t *)&relay->listener, NULL);
    uv_close((uv_handle_t *)&relay->turn, NULL);
    uv_close((uv_handle_t *)&relay->stall, NULL);
    socket_owner_fini(&relay->owner);
    free(relay->table);
    relay->table = NULL;
}
