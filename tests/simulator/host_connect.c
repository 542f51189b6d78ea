/* SPDX-License-Identifier: Apache-2.0 */
/* How simulated hosts are reached (launcher/connect/host_connect.h), and what stands for them:
 *   local    a supervisor, child of the launcher, and its agent, on a socket pair
 *   ssh      a stream to an agent on another machine, under a supervisor whose parent is sshd
 *   command  the same through a local process, whose death cuts the stream
 * Steps take their time, and fail where the seed's faults say so. */
#include "launcher/connect/host_connect.h"

#include "launcher/base/exit_status.h"
#include "launcher/process/children.h"
#include "tests/simulator/clock.h"
#include "tests/simulator/dice.h"
#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"
#include "tests/simulator/world.h"

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
    go_on(connect, SIM_MS(1));
    return connect;
}

/* Simulated jobs have no tree of agents. */
void host_connect_through(struct host_connect *connect, struct tunnels *tunnels)
{
    (void)connect, (void)tunnels;
}

void host_connect_directly(struct host_connect *connect)
{
    (void)connect;
}

bool connect_queue_is_local(struct connect_queue *pool, const struct connect_target *target)
{
    (void)pool, (void)target;
    return false;
}

const char *host_connect_end_text(const struct host_connect *connect)
{
    (void)connect;
    return "";
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
    bool is_there = connect->host->transport == SIM_TRANSPORT_SSH && !connect->host->vanished &&
                    !sim_path_is_down(0, host) && !sim_path_is_down(host, 0) &&
                    !connect->host->supervisor->frozen;
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

void host_connect_close(struct host_connect *connect, void (*fn)(void *context), void *context)
{
    if (!connect)
        return;
    sim_cancel(connect->event);
    connect->closed = true;
    connect->on_closed = fn;
    connect->closed_context = context;
    sim_after(connect->pool->loop->data, sim_between(5, 500), on_closed, connect);
}
