/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of hvdrun to a client of the rendezvous. Bytes go out as fast as the client reads.
 * Until the client has read everything, the agent reads nothing more from it. The connection ends
 * when it breaks, when more bytes are queued for the client than it may request at once, or when
 * the client reads nothing for stall_ms; time in which the client or the agent was stopped by a
 * signal does not count. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* The same limit as hvdrendezvousd's for answers that are not read: requests that come at once are
 * answered up to 8 MiB, plus the last answer, which may be a job of 131072 ranks and 16 MiB of
 * their data. Only clients of the agent's own user are answered so much. */
enum { RELAY_QUEUE_MAX = 64 << 20 };

struct relay_write {
    uv_write_t write;
    char bytes[];
};

static size_t queued(const struct relay_connection *connection)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&connection->socket);
}

/* A stopped rank does not read; that is no stall. */
static bool has_stalled(struct relay_connection *connection, uint64_t now_ms)
{
    uint64_t taken = connection->given - queued(connection);
    if (taken != connection->taken || connection->agent->watch.heartbeat.paused)
        heartbeat_timeout_heard(&connection->unread, now_ms);
    connection->taken = taken;
    return heartbeat_timeout_check(&connection->unread, now_ms);
}

/* One timer for all connections, while some client is behind. */
static void on_unread_timer(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    struct relay_connection *next;
    bool anybody = false;
    for (struct relay_connection *c = agent->relay.connections; c; c = next) {
        next = c->next;
        if (!c->behind || c->closing)
            continue;
        anybody = true;
        if (has_stalled(c, uv_now(agent->loop)))
            relay_connection_end(c);
    }
    if (!anybody)
        uv_timer_stop(timer);
}

static void look_whether_behind(struct relay_connection *connection)
{
    struct agent *agent = connection->agent;
    bool behind = queued(connection) > 0;
    if (behind == connection->behind || connection->closing)
        return;
    connection->behind = behind;
    relay_connection_listen(connection);
    if (!behind)
        return;
    heartbeat_timeout_start(&connection->unread, agent->relay.stall_ms, uv_now(agent->loop));
    if (!uv_is_active((uv_handle_t *)&agent->relay.stall))
        uv_timer_start(&agent->relay.stall, on_unread_timer, HEARTBEAT_CHECK_MS,
                       HEARTBEAT_CHECK_MS);
}

/* A client that has gone may have sent bytes before, which must still be read: then reading finds
 * the end. */
static void on_unread(struct relay_connection *connection)
{
    connection->reader_gone = true;
    if (connection->said_end && !connection->closing)
        relay_connection_end(connection);
}

static void on_agent_relay_answer_written(uv_write_t *write, int status)
{
    struct relay_connection *connection = write->handle->data;
    free(write);
    if (status < 0)
        on_unread(connection);
    look_whether_behind(connection);
}

static void agent_relay_answer_write(struct relay_connection *connection, const void *bytes,
                                     size_t length)
{
    struct relay_write *piece = xmalloc(sizeof *piece + length);
    uv_buf_t buffer = uv_buf_init(piece->bytes, (unsigned)length);
    memcpy(piece->bytes, bytes, length);
    if (uv_write(&piece->write, (uv_stream_t *)&connection->socket, &buffer, 1,
                 on_agent_relay_answer_written) < 0) {
        free(piece);
        relay_connection_end(connection);
        return;
    }
    connection->given += length;
    look_whether_behind(connection);
}

int agent_on_relay_data(struct agent *agent, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    if (body->failed)
        return fail(err, HVD_ERR_PROTOCOL, "malformed RELAY_DATA frame");
    struct relay_connection *connection = relay_connection_find(agent, id);
    size_t length = body->left;
    if (!connection || connection->reader_gone || length == 0)
        return HVD_OK; /* the connection has ended meanwhile */
    if (queued(connection) > RELAY_QUEUE_MAX)
        relay_connection_end(connection);
    else
        agent_relay_answer_write(connection, wire_get_bytes(body, length), length);
    return HVD_OK;
}

static void on_shutdown(uv_shutdown_t *shutdown, int status)
{
    struct relay_connection *connection = shutdown->handle->data;
    (void)status;
    free(shutdown);
    relay_connection_close(connection);
}

/* hvdrun sends no more: queued bytes go out, then the connection ends. */
int agent_on_relay_end(struct agent *agent, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_RELAY_END, err);
    struct relay_connection *connection = rc < 0 ? NULL : relay_connection_find(agent, id);
    if (!connection || connection->ending) /* an answer to our own end, when both sides ended at
                                            * once */
        return rc;
    connection->ending = true;
    uv_shutdown_t *shutdown = xmalloc(sizeof *shutdown);
    if (uv_shutdown(shutdown, (uv_stream_t *)&connection->socket, on_shutdown) < 0) {
        free(shutdown);
        relay_connection_close(connection);
    }
    return HVD_OK;
}

void relay_answer_init(struct agent *agent)
{
    uv_timer_init(agent->loop, &agent->relay.stall);
    agent->relay.stall.data = agent;
}
