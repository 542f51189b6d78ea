/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges with processes that listen on this host (EXCHANGE): connects, sends the request, takes
 * what comes until the other side closes, and sends it to hvdrun (EXCHANGED). Unmodified Horovod
 * workers are notified so. Fails, as an error number in EXCHANGED: the connection is refused or
 * breaks, the answer is longer than AGENT_EXCHANGE_MAX, or all of it takes longer than
 * EXCHANGE_MS, for instance because the process is stopped. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { EXCHANGE_MS = 10000 };

struct agent_exchange {
    uv_tcp_t socket;
    uv_timer_t limit;
    uv_connect_t connect;
    uv_write_t write;
    struct agent *agent;
    uint32_t id;
    size_t length; /* of the request in `bytes`, then of the answer */
    char bytes[AGENT_EXCHANGE_MAX];
    int open; /* handles */
    struct agent_exchange *next, **link;
};

static void on_exchange_closed(uv_handle_t *handle)
{
    struct agent_exchange *exchange = handle->data;
    if (--exchange->open == 0)
        free(exchange);
}

static void exchange_close(struct agent_exchange *exchange)
{
    *exchange->link = exchange->next;
    if (exchange->next)
        exchange->next->link = exchange->link;
    uv_close((uv_handle_t *)&exchange->socket, on_exchange_closed);
    uv_close((uv_handle_t *)&exchange->limit, on_exchange_closed);
}

/* `error`: 0, or a negative error number of libuv. */
static void exchange_finish(struct agent_exchange *exchange, int error)
{
    struct agent *agent = exchange->agent;
    struct wire_writer *body = frame_link_begin(&agent->link, AGENT_EXCHANGED);
    wire_put_u32(body, exchange->id);
    wire_put_i32(body, error);
    wire_put_bytes(body, exchange->bytes, error == 0 ? exchange->length : 0);
    frame_link_send(&agent->link);
    exchange_close(exchange);
}

static void on_exchange_limit(uv_timer_t *timer)
{
    exchange_finish(timer->data, UV_ETIMEDOUT);
}

static void on_exchange_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct agent_exchange *exchange = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(exchange->bytes + exchange->length,
                          (unsigned)(sizeof exchange->bytes - exchange->length));
}

static void on_exchange_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    struct agent_exchange *exchange = stream->data;
    (void)buffer;
    if (nread == UV_EOF)
        exchange_finish(exchange, 0);
    else if (nread == UV_ENOBUFS)
        exchange_finish(exchange, UV_EMSGSIZE);
    else if (nread < 0)
        exchange_finish(exchange, (int)nread);
    else
        exchange->length += (size_t)nread;
}

/* The answer takes the place of the request. */
static void on_exchange_written(uv_write_t *write, int status)
{
    struct agent_exchange *exchange = write->data;
    if (uv_is_closing((uv_handle_t *)&exchange->socket))
        return;
    exchange->length = 0;
    if (status == 0)
        status =
            uv_read_start((uv_stream_t *)&exchange->socket, on_exchange_alloc, on_exchange_read);
    if (status < 0)
        exchange_finish(exchange, status);
}

static void on_exchange_connected(uv_connect_t *connect, int status)
{
    struct agent_exchange *exchange = connect->data;
    uv_buf_t buffer = uv_buf_init(exchange->bytes, (unsigned)exchange->length);
    if (uv_is_closing((uv_handle_t *)&exchange->socket))
        return;
    exchange->write.data = exchange;
    if (status == 0)
        status = uv_write(&exchange->write, (uv_stream_t *)&exchange->socket, &buffer, 1,
                          on_exchange_written);
    if (status < 0)
        exchange_finish(exchange, status);
}

static struct agent_exchange *exchange_create(struct agent *agent, uint32_t id)
{
    struct agent_exchange *exchange = xcalloc(1, sizeof *exchange);
    exchange->agent = agent;
    exchange->id = id;
    exchange->open = 2;
    uv_must(uv_tcp_init(agent->loop, &exchange->socket), "sockets");
    uv_must(uv_timer_init(agent->loop, &exchange->limit), "timers");
    exchange->socket.data = exchange->limit.data = exchange->connect.data = exchange;
    exchange->next = agent->exchanges;
    exchange->link = &agent->exchanges;
    if (exchange->next)
        exchange->next->link = &exchange->next;
    agent->exchanges = exchange;
    return exchange;
}

int agent_on_exchange(struct agent *agent, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body), ip = wire_get_u32(body);
    uint16_t port = wire_get_u16(body);
    size_t length = body->left;
    const void *bytes = wire_get_bytes(body, length);
    if (body->failed || length > AGENT_EXCHANGE_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "malformed EXCHANGE frame");
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr.s_addr = htonl(ip) };
    struct agent_exchange *exchange = exchange_create(agent, id);
    if (length > 0)
        memcpy(exchange->bytes, bytes, length);
    exchange->length = length;
    uv_timer_start(&exchange->limit, on_exchange_limit, EXCHANGE_MS, 0);
    int rc = uv_tcp_connect(&exchange->connect, &exchange->socket, (struct sockaddr *)&address,
                            on_exchange_connected);
    if (rc < 0)
        exchange_finish(exchange, rc);
    return HVD_OK;
}

void agent_exchanges_close(struct agent *agent)
{
    while (agent->exchanges)
        exchange_close(agent->exchanges);
}
