/* SPDX-License-Identifier: Apache-2.0 */
/* How simulated hosts are reached (launcher/connect/host_connect.h), and what stands for them:
 *   local    a supervisor, child of the launcher, and its agent, on a socket pair
 *   ssh      a stream to an agent on another machine, under a supervisor whose parent is sshd
 *   command  the same through a local process, whose death cuts the stream
 *   below    the same through a command of another host's agent, which hvdrun asks for a tunnel
 *            (launcher/tree/tunnels.h); when it fails, hvdrun connects to the host itself
 * Steps take their time, and fail where the seed's faults say so. */
#include "launcher/connect/host_connect.h"

#include "launcher/base/exit_status.h"
#include "launcher/process/children.h"
#include "launcher/protocol/agent_protocol.h"
#include "launcher/tree/tunnels.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connect_queue {
    struct children *children;
    uv_loop_t *loop;
};

struct host_connect {
    struct connect_queue *pool;
    struct sim_host *host;
    const struct connect_events *events;
    void *context;
    struct sim_event *event;
    enum host_step step;
    bool closed;
    bool waits;            /* for the host above, or to be connected directly */
    struct tunnel *tunnel; /* or NULL */
    struct sim_end *end;   /* our end of the stream through the tunnel, until it is handed over */
    int fd;                /* of it */
    bool tunnelled;        /* it was */
    char end_text[TUNNEL_TEXT_SIZE];
    uint64_t acknowledged;
    void (*on_closed)(void *context);
    void *closed_context;
};

struct connect_queue *connect_queue_create(uv_loop_t *loop, const struct connect_settings *settings,
                                           struct children *children)
{
    struct connect_queue *pool = sim_new(sizeof *pool);
    (void)settings;
    *pool = (struct connect_queue){ children, loop };
    return pool;
}

void connect_queue_destroy(struct connect_queue *pool)
{
    (void)pool;
}

static void on_process_end(void *context, pid_t pid, int wait_status)
{
    struct host_connect *connect = context;
    (void)pid;
    if (!connect->closed)
        connect->events->on_process_end(connect->context, wait_status);
}

static void on_connected(void *context)
{
    struct host_connect *connect = context;
    struct sim_process *launcher = connect->pool->loop->data;
    struct sim_host *host = connect->host;
    struct sim_end *ends[2];
    struct host_stream stream = { .local = host->transport == SIM_TRANSPORT_LOCAL };
    sim_stream_make(ends, launcher->host, host->index);
    struct sim_process *stands = sim_host_begin(host, launcher, ends);
    if (stands) {
        stream.pid = stands->pid;
        children_watch(connect->pool->children, stands->pid, on_process_end, connect);
    }
    stream.input = stream.output = sim_descriptor(launcher, ends[0]);
    host->reached = true;
    connect->events->on_connected(connect->context, &stream);
}

static void next_step(void *context);

static void go_on(struct host_connect *connect, uint64_t most_us)
{
    connect->event =
        sim_after(connect->pool->loop->data, sim_between(10, most_us), next_step, connect);
}

static void next_step(void *context)
{
    struct host_connect *connect = context;
    struct sim_host *host = connect->host;
    if (sim_path_is_down(0, host->index) || sim_path_is_down(host->index, 0)) {
        go_on(connect, SIM_MS(200)); /* it tries again */
        return;
    }
    if (host->fails_at == connect->step) {
        host->failed = true;
        connect->events->on_failed(connect->context, connect->step, host->fails_with,
                                   "it fails here");
        return;
    }
    if (host->hangs_at == connect->step) {
        sim_log("host %d hangs while it is being reached", host->index);
        return;
    }
    connect->events->on_step(connect->context, connect->step);
    if (connect->step++ < STEP_AGENT)
        go_on(connect, host->transport == SIM_TRANSPORT_LOCAL ? 100 : SIM_MS(60));
    else
        on_connected(connect);
}

struct host_connect *host_connect_start(struct connect_queue *pool,
                                        const struct connect_target *target,
                                        const struct connect_events *events, void *context)
{
    struct host_connect *connect = sim_new(sizeof *connect);
    *connect = (struct host_connect){ .pool = pool,
                                      .host = &world.hosts[atoi(target->host + 1)],
                                      .events = events,
                                      .context = context };
    connect->step = STEP_RESOLVE;
    connect->waits = target->below;
    if (!connect->waits)
        go_on(connect, SIM_MS(1));
    return connect;
}

/* ---- through the host above ---- */

static void on_fallen_back(void *context)
{
    (void)context;
}

static void drop_end(struct host_connect *connect)
{
    if (!connect->end)
        return;
    connect->end->reader.process = NULL;
    connect->end = NULL;
    sim_descriptor_close(connect->fd);
}

static void fall_back(void *context)
{
    struct host_connect *connect = context;
    struct tunnel *tunnel = connect->tunnel;
    connect->tunnel = NULL;
    drop_end(connect);
    if (tunnel)
        tunnel_close(tunnel, true, on_fallen_back, connect);
    connect->events->on_fall_back(connect->context, connect->end_text);
    if (!connect->closed)
        go_on(connect, SIM_MS(1));
}

static void on_hop_errors(void *context, const char *data, size_t length)
{
    (void)context, (void)data, (void)length;
}

static void on_hop_end(void *context, const char *text)
{
    struct host_connect *connect = context;
    snprintf(connect->end_text, sizeof connect->end_text, "%s", text);
    if (!connect->closed && !connect->tunnelled)
        connect->event = sim_after(connect->pool->loop->data, 1, fall_back, connect);
}

/* The answer of the host has come through the tunnel: the agent there begins. */
static void on_hop_answer(void *context)
{
    struct host_connect *connect = context;
    struct host_stream stream = { .input = connect->fd,
                                  .output = connect->fd,
                                  .tunnel = connect->tunnel };
    char answer;
    int error;
    if (!connect->end || sim_read(connect->end, &answer, 1, &error) <= 0)
        return; /* on_hop_end() follows */
    connect->end = NULL;
    connect->tunnelled = true;
    connect->host->reached = true;
    connect->events->on_connected(connect->context, &stream);
}

void host_connect_through(struct host_connect *connect, struct tunnels *tunnels)
{
    static const struct tunnel_events events = { on_hop_errors, on_hop_end };
    struct sim_process *launcher = connect->pool->loop->data;
    struct sim_end *ends[2];
    struct string_list words = { 0 };
    struct err err = { 0 };
    if (!connect->waits)
        return;
    connect->waits = false;
    sim_stream_make(ends, launcher->host, launcher->host);
    connect->end = ends[0];
    connect->fd = sim_descriptor(launcher, ends[0]);
    connect->end->reader = (struct sim_user){ launcher, on_hop_answer, connect, false };
    const char *index = sim_format("%d", connect->host->index);
    string_list_add(&words, SIM_HOP, strlen(SIM_HOP));
    string_list_add(&words, index, strlen(index));
    connect->tunnel = tunnel_open(tunnels, connect->pool->loop, sim_descriptor(launcher, ends[1]),
                                  &words, &events, connect, &err);
    string_list_fini(&words);
    if (!connect->tunnel)
        on_hop_end(connect, err.text);
}

void host_connect_directly(struct host_connect *connect)
{
    if (!connect->waits)
        return;
    connect->waits = false;
    go_on(connect, SIM_MS(1));
}

bool connect_queue_is_local(struct connect_queue *pool, const struct connect_target *target)
{
    (void)pool;
    return world.hosts[atoi(target->host + 1)].transport == SIM_TRANSPORT_LOCAL;
}

const char *host_connect_end_text(const struct host_connect *connect)
{
    return connect->end_text;
}

const char *host_connect_job_end_text(const struct host_connect *connect)
{
    (void)connect;
    return "";
}

/* There is always a heartbeat that the kernel of a host which is there acknowledges. */
uint64_t host_connect_acknowledged(const struct host_connect *connect)
{
    int host = connect->host->index;
    bool is_there = connect->host->transport == SIM_TRANSPORT_SSH && !connect->tunnelled &&
                    !connect->host->vanished && !sim_path_is_down(0, host) &&
                    !sim_path_is_down(host, 0) && !connect->host->supervisor->frozen;
    if (is_there)
        ((struct host_connect *)connect)->acknowledged++;
    return connect->acknowledged;
}

static void on_closed(void *context)
{
    struct host_connect *connect = context;
    if (connect->on_closed)
        connect->on_closed(connect->closed_context);
}

static void close_soon(void *context)
{
    struct host_connect *connect = context;
    sim_after(connect->pool->loop->data, sim_between(5, 500), on_closed, connect);
}

void host_connect_close(struct host_connect *connect, void (*fn)(void *context), void *context)
{
    if (!connect)
        return;
    sim_cancel(connect->event);
    connect->closed = true;
    connect->on_closed = fn;
    connect->closed_context = context;
    drop_end(connect);
    if (connect->tunnel)
        tunnel_close(connect->tunnel, !connect->tunnelled, close_soon, connect);
    else
        close_soon(connect);
}
