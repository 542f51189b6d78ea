/* SPDX-License-Identifier: Apache-2.0 */
/* The transport through the agent of another host, which runs the command that connects to the
 * host (launcher/tree/tunnels.h). hvdrun has a socketpair: one end is the stream, as of any other
 * transport; the other belongs to the tunnel. Fails when there are no descriptors left, when the
 * command's words are malformed, and when the agent is gone. The command's stderr and the reason of
 * its end are reported. */
#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/connect/host_command.h"
#include "launcher/connect/host_transport.h"
#include "launcher/tree/tunnels.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

struct tunnel_transport {
    const struct host_transport_job *job;
    uv_timer_t turn;
    struct tunnel *tunnel; /* NULL: it was not opened */
    int stream;            /* our end; -1 after it was handed over */
    int exit_status;       /* if the start has failed */
    struct err err;
    bool closing;
};

static void on_transport_tunnel_errors(void *context, const char *data, size_t length)
{
    struct tunnel_transport *transport = context;
    if (!transport->closing)
        host_transport_stderr(transport->job->connect, data, length);
}

static void on_transport_tunnel_end(void *context, const char *text)
{
    struct tunnel_transport *transport = context;
    if (!transport->closing)
        host_transport_ended(transport->job->connect, text);
}

static void transport_tunnel_start(struct tunnel_transport *transport)
{
    static const struct tunnel_events events = { on_transport_tunnel_errors,
                                                 on_transport_tunnel_end };
    const struct host_transport_job *job = transport->job;
    struct string_list words = { 0 };
    int pair[2];
    transport->exit_status = STATUS_USAGE;
    if (host_command_words(&words, job, &transport->err) == HVD_OK) {
        transport->exit_status = STATUS_RESOURCE;
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
            fail_errno(&transport->err, HVD_ERR_SYSTEM, errno, "socketpair");
        } else {
            transport->stream = pair[0];
            transport->tunnel = tunnel_open(job->target->tunnels, job->loop, pair[1], &words,
                                            &events, transport, &transport->err);
        }
    }
    string_list_fini(&words);
}

static void on_transport_tunnel_turn(uv_timer_t *timer)
{
    struct tunnel_transport *transport = timer->data;
    struct host_connect *connect = transport->job->connect;
    host_transport_step(connect, STEP_CONNECT);
    if (!transport->tunnel) {
        host_transport_failed(connect, transport->exit_status, transport->err.text);
        return;
    }
    struct host_stream stream = { .input = transport->stream,
                                  .output = transport->stream,
                                  .tunnel = transport->tunnel };
    transport->stream = -1;
    host_transport_opened(connect, &stream);
}

static void *open_tunnel(const struct host_transport_job *job)
{
    struct tunnel_transport *transport = xcalloc(1, sizeof *transport);
    transport->job = job;
    transport->stream = -1;
    uv_must(uv_timer_init(job->loop, &transport->turn), "timers");
    transport->turn.data = transport;
    transport_tunnel_start(transport);
    uv_timer_start(&transport->turn, on_transport_tunnel_turn, 0, 0);
    return transport;
}

static void on_transport_tunnel_closed(uv_handle_t *handle)
{
    struct tunnel_transport *transport = handle->data;
    struct host_connect *connect = transport->job->connect;
    free(transport);
    host_transport_closed(connect);
}

static void on_transport_tunnel_over(void *context)
{
    struct tunnel_transport *transport = context;
    uv_close((uv_handle_t *)&transport->turn, on_transport_tunnel_closed);
}

static void close_tunnel(void *state)
{
    struct tunnel_transport *transport = state;
    transport->closing = true;
    if (transport->stream >= 0)
        close(transport->stream);
    uv_timer_stop(&transport->turn);
    if (transport->tunnel)
        tunnel_close(transport->tunnel, !host_transport_is_connected(transport->job->connect),
                     on_transport_tunnel_over, transport);
    else
        on_transport_tunnel_over(transport);
}

const struct host_transport transport_tunnel = { "tunnel", open_tunnel, close_tunnel, NULL };
