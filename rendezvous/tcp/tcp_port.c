/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket; its connections are in tcp_connection.c. bind, listen, accept up to
 * TCP_PORT_TURN at a time and start each. When descriptors have run out, new connections wait in
 * the kernel until a connection ends, or a moment has passed. Accepted sockets inherit the
 * options of the listening socket. TCP_DEFER_ACCEPT is not used: silent clients would fill the
 * kernel's short queue, where nobody counts them, whereas here they are limited in number and
 * time. */
#include "rendezvous/tcp/tcp_port.h"

#include "lib/base/join_protocol.h"
#include "lib/base/tcp_attempts.h"
#include "rendezvous/tcp/tcp_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

void tcp_port_release(struct tcp_port *port)
{
    if (--port->handles == 0)
        free(port);
}

static void on_tcp_port_handle_closed(uv_handle_t *handle)
{
    tcp_port_release(handle->data);
}

static void on_tick(uv_timer_t *tick)
{
    struct tcp_port *port = tick->data;
    uint64_t now_ms = uv_now(port->loop);
    tcp_port_resume(port);
    /* Ending a connection may end other connections. None is freed before the loop continues, so
     * `next` stays valid. */
    for (struct tcp_connection *c = port->connections; c; c = c->next)
        if (c->deadline_ms != 0 && now_ms >= c->deadline_ms)
            tcp_connection_expire(c, now_ms);
    if (port->deadlines == 0 && !port->paused)
        uv_timer_stop(tick);
}

void tcp_port_watch(struct tcp_port *port)
{
    if (!port->closing && !uv_is_active((uv_handle_t *)&port->tick))
        uv_timer_start(&port->tick, on_tick, TCP_TICK_MS, TCP_TICK_MS);
}

static void on_tcp_port_readable(uv_poll_t *poll, int status, int events)
{
    struct tcp_port *port = poll->data;
    (void)status, (void)events; /* accepting tells */
    for (int n = 0; n < TCP_PORT_TURN && port->fd >= 0; n++) {
        int fd = accept4(port->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            tcp_connection_start(port, fd);
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR && errno != ECONNABORTED) {
            port->paused = true;
            uv_poll_stop(&port->poll);
            tcp_port_watch(port);
            return;
        }
    }
}

void tcp_port_resume(struct tcp_port *port)
{
    if (!port->paused || port->fd < 0)
        return;
    port->paused = false;
    uv_poll_start(&port->poll, UV_READABLE, on_tcp_port_readable);
}

static void tcp_port_set_options(int fd, const struct sockaddr_storage *address)
{
    const struct {
        int level, name, value;
    } options[] = {
        { SOL_SOCKET, SO_REUSEADDR, 1 },
        { IPPROTO_TCP, TCP_NODELAY, 1 },
        { IPPROTO_IPV6, IPV6_V6ONLY, 0 },
    };
    size_t count = sizeof options / sizeof *options - (address->ss_family != AF_INET6);
    for (size_t i = 0; i < count; i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
    tcp_limit_wait(fd, JOIN_IDLE_S, TCP_PORT_WRITE_MS);
}

static int fail_listen(struct err *err, const char *address)
{
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "listen on %s", address);
}

/* Makes the listening socket, and finds out its address. */
static int open_socket(struct tcp_port *port, struct err *err)
{
    struct sockaddr *bound = (struct sockaddr *)&port->bound;
    socklen_t length = tcp_address_length(&port->bound);
    port->fd = socket(port->bound.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (port->fd < 0)
        return fail_listen(err, port->address);
    tcp_port_set_options(port->fd, &port->bound);
    if (bind(port->fd, bound, length) < 0 || listen(port->fd, TCP_PORT_BACKLOG) < 0 ||
        getsockname(port->fd, bound, &length) < 0) {
        fail_listen(err, port->address);
        close(port->fd);
        return HVD_ERR_SYSTEM;
    }
    tcp_address_format(port->address, &port->bound);
    return HVD_OK;
}

static int tcp_port_start(struct tcp_port *port, struct err *err)
{
    int rc = uv_poll_init(port->loop, &port->poll, port->fd);
    if (rc < 0) {
        close(port->fd);
        return fail(err, HVD_ERR_SYSTEM, "listen on %s: %s", port->address, uv_strerror(rc));
    }
    uv_timer_init(port->loop, &port->tick);
    port->poll.data = port->tick.data = port;
    port->handles = 2;
    uv_poll_start(&port->poll, UV_READABLE, on_tcp_port_readable);
    return HVD_OK;
}

struct tcp_port *tcp_port_open(uv_loop_t *loop, const char *address, struct rendezvous *rendezvous,
                               struct err *err)
{
    struct tcp_port *port = calloc(1, sizeof *port);
    if (!port) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    port->loop = loop;
    port->rendezvous = rendezvous;
    port->queues_max = TCP_QUEUES_MAX;
    if (tcp_address_parse(&port->bound, address, err) < 0)
        goto failed;
    tcp_address_format(port->address, &port->bound);
    if (open_socket(port, err) < 0 || tcp_port_start(port, err) < 0)
        goto failed;
    return port;
failed:
    free(port);
    return NULL;
}

const char *tcp_port_address(const struct tcp_port *port)
{
    return port->address;
}

int tcp_port_number(const struct tcp_port *port)
{
    return tcp_address_port(&port->bound);
}

bool tcp_port_is_loopback(const struct tcp_port *port)
{
    return tcp_address_is_loopback(&port->bound);
}

void tcp_port_stop(struct tcp_port *port)
{
    if (port->fd < 0)
        return;
    uv_close((uv_handle_t *)&port->poll, on_tcp_port_handle_closed);
    close(port->fd);
    port->fd = -1;
    port->paused = false;
}

void tcp_port_set_origin(struct tcp_port *port, tcp_port_origin_fn *origin, void *context)
{
    port->origin = origin;
    port->origin_context = context;
}

void tcp_port_drain(struct tcp_port *port)
{
    tcp_port_stop(port);
    uv_unref((uv_handle_t *)&port->tick);
}

void tcp_port_close(struct tcp_port *port)
{
    if (!port || port->closing)
        return;
    tcp_port_stop(port);
    port->closing = true;
    while (port->connections)
        tcp_connection_end(port->connections);
    uv_close((uv_handle_t *)&port->tick, on_tcp_port_handle_closed);
}
