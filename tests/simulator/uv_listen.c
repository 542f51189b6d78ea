/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets of libuv, all on 127.0.0.1 of their hosts: a port is bound, a process of the
 * host dials it, the listener is told and takes the connection. It holds back, as libuv does, while
 * a connection that it was told of is not taken. Who dials a port where nobody listens is refused;
 * what waits when a listener is closed reads the end. */
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/uv_impl.h"

#include <netinet/in.h>

enum { PORT_BASE = 40000 };
static int last_port;

int uv_tcp_bind(uv_tcp_t *tcp, const struct sockaddr *address, unsigned flags)
{
    (void)address, (void)flags;
    sim_handle_of(tcp)->port = PORT_BASE + ++last_port % 20000;
    return 0;
}

int uv_listen(uv_stream_t *stream, int backlog, uv_connection_cb fn)
{
    (void)backlog;
    sim_handle_of(stream)->connection_fn = fn;
    sim_handle_of(stream)->active = true;
    return 0;
}

int uv_tcp_getsockname(const uv_tcp_t *tcp, struct sockaddr *name, int *length)
{
    (void)length;
    ((struct sockaddr_in *)(void *)name)->sin_port = htons((uint16_t)sim_handle_of(tcp)->port);
    return 0;
}

static void on_clients(void *context)
{
    struct sim_handle *handle = context;
    while (handle->clients && !handle->closing && !handle->holds_back) {
        struct waiting_client *first = handle->clients;
        handle->connection_fn((uv_stream_t *)handle->uv, 0);
        handle->holds_back = handle->clients == first;
    }
}

int uv_accept(uv_stream_t *listener, uv_stream_t *client)
{
    struct sim_handle *from = sim_handle_of(listener), *to = sim_handle_of(client);
    struct waiting_client *first = from->clients;
    if (!first)
        return UV_EAGAIN;
    from->clients = first->next;
    to->fd = sim_descriptor(to->process, first->end);
    to->end = first->end;
    sim_release(to->process, first->end); /* the kernel's, on our behalf */
    if (from->holds_back && from->clients)
        sim_after(from->process, 1, on_clients, from);
    from->holds_back = false;
    return 0;
}

static struct sim_handle *find_listener(int host, int port)
{
    for (struct sim_process *process = sim_processes(); process; process = process->next)
        for (struct sim_handle *at = process->handles; at && process->alive; at = at->next)
            if (at->active && at->connection_fn && at->port == port && process->host == host)
                return at;
    return NULL;
}

struct sim_end *sim_dial(struct sim_process *process, int port)
{
    struct sim_handle *listener = find_listener(process->host, port);
    struct sim_end *ends[2];
    if (!listener)
        return NULL;
    sim_stream_make(ends, process->host, process->host);
    sim_hold(process, ends[0]);
    sim_hold(listener->process, ends[1]);
    struct waiting_client *client = sim_new(sizeof *client), **last = &listener->clients;
    client->end = ends[1];
    while (*last)
        last = &(*last)->next;
    *last = client;
    sim_after(listener->process, sim_between(5, 100), on_clients, listener);
    return ends[0];
}

void sim_listener_let_go(struct sim_handle *handle)
{
    for (struct waiting_client *at = handle->clients; at; at = at->next)
        sim_release(handle->process, at->end);
}
