/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of a port:
 *   read what is there, hand it over, send what the rendezvous answers at once; what the socket does
 *   not take is queued, and until the queue is empty nothing more is read.
 * When the rendezvous ends the connection, the queue is sent, our side is shut down, and further
 * input is read and dropped until the client closes, too: closing a socket with unread bytes would
 * discard the answer. At most TCP_LINGERING_MAX connections may end so slowly, unless a client has
 * much to read. When the client ends the connection, or the connection breaks, the input before the
 * end is handed over, and then rendezvous_hangup() is called. The same happens when nothing could
 * be sent for TCP_PORT_WRITE_MS, when the queue is sent too slowly, when it is too large, alone or
 * with all other queues, or when memory for it runs out. */
#include "rendezvous/tcp/tcp_connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DRAIN_READS = 16 };

enum read_result { READ_SOME, READ_NOTHING, READ_END };

static bool is_queued(const struct tcp_connection *connection)
{
    return connection->sent < connection->queue.length;
}

static void set_deadline(struct tcp_connection *connection, uint64_t deadline_ms)
{
    connection->port->deadlines += (deadline_ms != 0) - (connection->deadline_ms != 0);
    connection->deadline_ms = deadline_ms;
    if (deadline_ms != 0)
        tcp_port_watch(connection->port);
}

/* Sets the deadlines for the next byte and for all that is queued. */
static void set_write_timeout(struct tcp_connection *connection)
{
    uint64_t deadline_ms = uv_now(connection->port->loop) + TCP_PORT_WRITE_MS;
    set_deadline(connection,
                 deadline_ms < connection->read_by_ms ? deadline_ms : connection->read_by_ms);
}

static void count_queue(struct tcp_connection *connection)
{
    connection->port->queues += connection->queue.capacity - connection->counted;
    connection->counted = connection->queue.capacity;
}

static void drop_queue(struct tcp_connection *connection)
{
    wire_writer_fini(&connection->queue);
    connection->sent = 0;
    count_queue(connection);
}

static void on_tcp_connection_closed(uv_handle_t *handle)
{
    struct tcp_connection *connection = handle->data;
    struct tcp_port *port = connection->port;
    free(connection);
    tcp_port_release(port);
}

static void tcp_connection_forget(struct tcp_connection *connection)
{
    if (uv_is_closing((uv_handle_t *)&connection->poll))
        return;
    set_deadline(connection, 0);
    connection->port->lingering -= connection->lingering;
    *connection->link = connection->next; /* its own `next` stays: on_tick() may stand here */
    if (connection->next)
        connection->next->link = connection->link;
    drop_queue(connection);
    uv_close((uv_handle_t *)&connection->poll, on_tcp_connection_closed);
    close(connection->fd);
    tcp_port_resume(connection->port);
}

void tcp_connection_end(struct tcp_connection *connection)
{
    struct rendezvous_connection *session = connection->session;
    connection->session = NULL;
    if (session)
        rendezvous_hangup(session);
    tcp_connection_forget(connection);
}

/* Shuts the socket down. It is readable from now on, and reading finds its end. */
static void break_off(struct tcp_connection *connection)
{
    connection->broken = true;
    drop_queue(connection);
    set_deadline(connection, 0);
    shutdown(connection->fd, SHUT_RDWR);
}

/* Returns how many bytes were sent. */
static size_t send_now(struct tcp_connection *connection, const void *data, size_t length)
{
    ssize_t n;
    do
        n = send(connection->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM)
        break_off(connection);
    return n > 0 ? (size_t)n : 0;
}

static enum read_result tcp_connection_read_some(struct tcp_connection *connection)
{
    struct tcp_port *port = connection->port;
    ssize_t n;
    do
        n = recv(connection->fd, port->chunk, sizeof port->chunk, MSG_DONTWAIT);
    while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return READ_NOTHING;
    if (n <= 0)
        return READ_END;
    if (connection->session)
        rendezvous_receive(connection->session, port->chunk, (size_t)n);
    explicit_bzero(port->chunk, (size_t)n); /* a key may be in it */
    return READ_SOME;
}

static void on_event(uv_poll_t *poll, int status, int events);

/* Waits for what must happen next; uv_poll_start() has the kernel forget and learn it anew. */
static void await(struct tcp_connection *connection)
{
    int event = is_queued(connection) ? UV_WRITABLE : UV_READABLE;
    if (event == connection->awaited || uv_is_closing((uv_handle_t *)&connection->poll))
        return;
    connection->awaited = event;
    uv_poll_start(&connection->poll, event, on_event);
}

/* The rendezvous has ended the connection, and all that was queued is sent. */
static void linger(struct tcp_connection *connection)
{
    if (connection->port->closing || shutdown(connection->fd, SHUT_WR) < 0) {
        tcp_connection_forget(connection);
        return;
    }
    set_deadline(connection, uv_now(connection->port->loop) + TCP_LINGER_MS);
    await(connection);
}

static void tcp_connection_flush(struct tcp_connection *connection)
{
    size_t n = send_now(connection, connection->queue.data + connection->sent,
                        connection->queue.length - connection->sent);
    if (connection->broken || n == 0)
        return;
    connection->sent += n;
    if (is_queued(connection)) {
        set_write_timeout(connection);
        return;
    }
    drop_queue(connection);
    set_deadline(connection, 0);
    if (!connection->session)
        linger(connection);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
    struct tcp_connection *connection = poll->data;
    if (status < 0 || connection->broken) {
        /* The socket has failed. What the client had sent before is handed over, within limits. */
        int reads = 0;
        while (reads++ < DRAIN_READS && connection->session &&
               tcp_connection_read_some(connection) == READ_SOME)
            continue;
        tcp_connection_end(connection);
        return;
    }
    if ((events & UV_READABLE) && tcp_connection_read_some(connection) == READ_END) {
        tcp_connection_end(connection);
        return;
    }
    if ((events & UV_WRITABLE) && is_queued(connection))
        tcp_connection_flush(connection);
    await(connection);
}

void tcp_connection_expire(struct tcp_connection *connection, uint64_t now_ms)
{
    if (is_queued(connection)) /* the whole process may have been stopped, and nobody has tried
                                * to send */
        tcp_connection_flush(connection);
    if (connection->deadline_ms != 0 && now_ms >= connection->deadline_ms)
        tcp_connection_end(connection);
}

static struct tcp_connection *of_stream(struct rendezvous_stream *stream)
{
    return (struct tcp_connection *)((char *)stream - offsetof(struct tcp_connection, stream));
}

/* Frames are short, and workers have no large queue. */
static bool too_much_is_queued(const struct tcp_connection *connection)
{
    size_t length = connection->queue.length - connection->sent;
    return length > TCP_QUEUE_MAX || (length > TCP_UNAUTHENTICATED_QUEUE_MAX &&
                                      connection->port->queues > connection->port->queues_max);
}

/* Makes room at the end of the queue by removing the bytes that were sent. */
static void enqueue(struct tcp_connection *connection, const void *data, size_t length)
{
    struct wire_writer *queue = &connection->queue;
    if (connection->sent > queue->length / 2) {
        queue->length -= connection->sent;
        memmove(queue->data, queue->data + connection->sent, queue->length);
        connection->sent = 0;
    }
    wire_put_bytes(queue, data, length);
    count_queue(connection);
    connection->read_by_ms += (uint64_t)length * 1000 / TCP_PORT_RATE;
    if (queue->failed || too_much_is_queued(connection))
        break_off(connection);
}

static void stream_send(struct rendezvous_stream *stream, const void *data, size_t length)
{
    struct tcp_connection *connection = of_stream(stream);
    bool was_queued = is_queued(connection);
    size_t done = connection->broken || was_queued ? 0 : send_now(connection, data, length);
    if (connection->broken || done == length)
        return;
    if (!was_queued)
        connection->read_by_ms = uv_now(connection->port->loop) + TCP_PORT_WRITE_MS;
    enqueue(connection, (const char *)data + done, length - done);
    if (!was_queued && !connection->broken)
        set_write_timeout(connection);
    await(connection);
}

/* Unauthenticated clients are refused as fast as they come, and may never read their answer. */
static bool may_linger(const struct tcp_connection *connection)
{
    return connection->port->lingering < TCP_LINGERING_MAX ||
           connection->queue.length - connection->sent > TCP_UNAUTHENTICATED_QUEUE_MAX;
}

static void stream_close(struct rendezvous_stream *stream)
{
    struct tcp_connection *connection = of_stream(stream);
    connection->session = NULL;
    if (connection->broken || connection->port->closing || !may_linger(connection)) {
        tcp_connection_forget(connection);
        return;
    }
    connection->lingering = true;
    connection->port->lingering++;
    if (!is_queued(connection))
        linger(connection);
}

void tcp_connection_start(struct tcp_port *port, int fd)
{
    struct tcp_connection *connection = calloc(1, sizeof *connection);
    if (!connection || uv_poll_init(port->loop, &connection->poll, fd) < 0) {
        free(connection);
        close(fd);
        return;
    }
    port->handles++;
    connection->poll.data = connection;
    connection->stream = (struct rendezvous_stream){ .send = stream_send, .close = stream_close };
    connection->port = port;
    connection->fd = fd;
    connection->next = port->connections;
    connection->link = &port->connections;
    if (connection->next)
        connection->next->link = &connection->next;
    port->connections = connection;
    enum rendezvous_origin origin =
        port->origin ? port->origin(port->origin_context, fd) : RENDEZVOUS_ELSEWHERE;
    connection->session = rendezvous_accept(port->rendezvous, &connection->stream, origin);
    if (!connection->session || tcp_connection_read_some(connection) == READ_END)
        tcp_connection_end(connection);
    else
        await(connection);
}
