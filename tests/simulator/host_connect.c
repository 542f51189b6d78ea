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

struct reach_pool {
    struct children *children;
    uv_loop_t *loop;
};

struct reach {
    struct reach_pool *pool;
    struct sim_host *host;
    const struct reach_events *events;
    void *context;
    struct sim_event *event;
    enum host_step step;
    bool closed;
    uint64_t acknowledged;
    void (*on_closed)(void *context);
    void *closed_context;
};

struct reach_pool *reach_pool_create(uv_loop_t *loop, const struct reach_settings *settings,
                                     struct children *children)
{
    struct reach_pool *pool = sim_new(sizeof *pool);
    (void)settings;
    *pool = (struct reach_pool){ children, loop };
    return pool;
}

void reach_pool_destroy(struct reach_pool *pool)
{
    (void)pool;
}

static void on_process_end(void *context, pid_t pid, int wait_status)
{
    struct reach *reach = context;
    (void)pid;
    if (!reach->closed)
        reach->events->on_process_end(reach->context, wait_status);
}

static void on_reached(void *context)
{
    struct reach *reach = context;
    struct sim_process *launcher = reach->pool->loop->data;
    struct sim_host *host = reach->host;
    struct sim_end *ends[2];
    struct reached reached = { .local = host->way == SIM_WAY_LOCAL };
    sim_stream_make(ends, launcher->host, host->index);
    struct sim_process *stands = sim_host_begin(host, launcher, ends);
    if (stands) {
        reached.pid = stands->pid;
        children_watch(reach->pool->children, stands->pid, on_process_end, reach);
    }
    reached.input = reached.output = sim_descriptor(launcher, ends[0]);
    host->reached = true;
    reach->events->on_reached(reach->context, &reached);
}

static void next_step(void *context);

static void go_on(struct reach *reach, uint64_t most_us)
{
    reach->event = sim_after(reach->pool->loop->data, sim_between(10, most_us), next_step, reach);
}

static void next_step(void *context)
{
    struct reach *reach = context;
    struct sim_host *host = reach->host;
    if (sim_path_is_down(0, host->index) || sim_path_is_down(host->index, 0)) {
        go_on(reach, SIM_MS(200)); /* it tries again */
        return;
    }
    if (host->fails_at == reach->step) {
        host->failed = true;
        reach->events->on_failed(reach->context, reach->step, host->fails_with, "it fails here");
        return;
    }
    if (host->hangs_at == reach->step) {
        sim_log("host %d hangs while it is being reached", host->index);
        return;
    }
    reach->events->on_step(reach->context, reach->step);
    if (reach->step++ < STEP_AGENT)
        go_on(reach, host->way == SIM_WAY_LOCAL ? 100 : SIM_MS(60));
    else
        on_reached(reach);
}

struct reach *reach_start(struct reach_pool *pool, const struct reach_target *target,
                          const struct reach_events *events, void *context)
{
    struct reach *reach = sim_new(sizeof *reach);
    *reach = (struct reach){ .pool = pool,
                             .host = &world.hosts[atoi(target->host + 1)],
                             .events = events,
                             .context = context };
    reach->step = STEP_RESOLVE;
    go_on(reach, SIM_MS(1));
    return reach;
}

const char *reach_end_text(const struct reach *reach)
{
    (void)reach;
    return "";
}

/* There is always a heartbeat that the kernel of a host which is there acknowledges. */
uint64_t reach_acknowledged(const struct reach *reach)
{
    int host = reach->host->index;
    bool is_there = reach->host->way == SIM_WAY_SSH && !reach->host->vanished &&
                    !sim_path_is_down(0, host) && !sim_path_is_down(host, 0) &&
                    !reach->host->supervisor->frozen;
    if (is_there)
        ((struct reach *)reach)->acknowledged++;
    return reach->acknowledged;
}

static void on_closed(void *context)
{
    struct reach *reach = context;
    if (reach->on_closed)
        reach->on_closed(reach->closed_context);
}

void reach_close(struct reach *reach, void (*fn)(void *context), void *context)
{
    if (!reach)
        return;
    sim_cancel(reach->event);
    reach->closed = true;
    reach->on_closed = fn;
    reach->closed_context = context;
    sim_after(reach->pool->loop->data, sim_between(5, 500), on_closed, reach);
}
