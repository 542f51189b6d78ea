/* SPDX-License-Identifier: Apache-2.0 */
/* The end of the ranks of a host, and of the agent:
 *   STOP        the ranks are asked, then killed (stop_plan.h); those that exit already, or were
 *               killed, are reported as having ended by themselves
 *   all ended   processes that are left are ended; then, when the tunnels to hosts below this one
 *               have ended too, DONE
 *   orphaned    the link has ended before DONE, or the heartbeat timeout has passed: the agent kills
 *               everything that it has started
 *   a signal    SIGTERM, SIGINT or SIGHUP: the same, and the host is reported as lost
 *   SIGTERM     while ranks of an elastic job run: hvdrun is told (DRAIN), whose ranks leave when they
 *               can. But not when it comes because the parent of the agent has died */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/process/process_handle.h"
#include "launcher/process/process_tree.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TICK_MS = STOP_KILL_AGAIN_MS };

void agent_close_everything(struct agent *agent)
{
    if (agent->link.closing)
        return;
    uv_timer_stop(&agent->ending.tick);
    uv_close((uv_handle_t *)&agent->ending.tick, NULL);
    agent_watch_close(agent);
    agent_rank_stops_close(agent);
    agent_exchanges_close(agent);
    agent_tunnels_close(agent);
    agent_stacks_close(agent);
    for (size_t i = 0; i < sizeof agent->ending.signals / sizeof *agent->ending.signals; i++)
        uv_close((uv_handle_t *)&agent->ending.signals[i], NULL);
    agent_streams_close(agent);
    agent_relay_close(agent);
    frame_link_close(&agent->link, NULL);
    cgroup_remove(&agent->ranks.cgroup);
}

static void send_done(struct agent *agent)
{
    bool given_up = agent->ending.stop.phase == STOP_GIVEN_UP;
    int left = given_up ? process_tree_signal(0, NULL, 0) : 0;
    bool children = agent_reap(agent); /* children that were not counted because they had just
                                        * ended */
    if (given_up && left == 0 && children)
        left = 1; /* at least one: /proc could not be read */
    if (left < agent->ranks.running)
        left = agent->ranks.running;
    if (left > 0)
        agent_tell_stuck(agent);
    wire_put_i32(frame_link_begin(&agent->link, AGENT_DONE), left);
    frame_link_send(&agent->link);
    agent->phase = AGENT_IS_DONE;
    uv_timer_stop(&agent->ending.tick);
    if (frame_link_queued(&agent->link) == 0)
        agent_close_everything(agent);
}

static void on_tick(uv_timer_t *timer);

/* Sends the signal of the plan, and keeps the timer running while there are processes to end. */
static void apply(struct agent *agent, int signum)
{
    if (signum != 0)
        agent_signal_everything(agent, signum);
    if (!uv_is_active((uv_handle_t *)&agent->ending.tick))
        uv_timer_start(&agent->ending.tick, on_tick, TICK_MS, TICK_MS);
}

/* All ranks have ended. Processes that are left get time until their output ends, or a second, and
 * are then ended too. */
static void sweep(struct agent *agent, bool children, uint64_t now)
{
    bool ended = agent_pumps_ended(agent, now);
    bool given_up = agent->ending.stop.phase == STOP_GIVEN_UP;
    children = children && (agent->tunnels.count == 0 || agent_has_other_children(agent));
    if ((!children || given_up) && ended && agent->tunnels.count == 0)
        send_done(agent);
    else if (children && agent->ending.stop.phase <= STOP_ASKING &&
             (ended || now - agent->ending.sweeping_since_ms >= AGENT_OUTPUT_WAIT_MS))
        apply(agent, stop_plan_ask(&agent->ending.stop, SIGTERM, AGENT_LEFTOVER_GRACE_MS, now));
}

static void advance_ending(struct agent *agent)
{
    uint64_t now = uv_now(agent->loop);
    bool children = agent_reap(agent);
    bool given_up = agent->ending.stop.phase == STOP_GIVEN_UP;
    if (agent->phase == AGENT_RUNNING && (agent->ranks.running == 0 || given_up)) {
        agent_pumps_give_up(agent);
        agent->phase = AGENT_SWEEPING;
        agent->ending.sweeping_since_ms = now;
        apply(agent, 0);
    }
    if (agent->phase == AGENT_SWEEPING)
        sweep(agent, children, now);
    else if (agent->phase == AGENT_ORPHANED && (!children || given_up))
        agent_close_everything(agent);
}

void agent_tunnel_is_over(struct agent *agent)
{
    advance_ending(agent);
}

/* The last end of file often comes after the last SIGCHLD. Processes that are left have the time
 * until the next tick to end by themselves. */
void agent_output_is_over(struct agent *agent)
{
    if (agent->phase == AGENT_SWEEPING && agent->streams.open == 0 && agent->tunnels.count == 0 &&
        !agent_reap(agent))
        send_done(agent);
}

static void on_tick(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    int signum = stop_plan_advance(&agent->ending.stop, uv_now(agent->loop));
    if (signum != 0)
        agent_signal_everything(agent, signum);
    advance_ending(agent);
}

/* The first time: ranks that are already ending do so by themselves, however long it takes. */
static void agent_note_ending_ranks(struct agent *agent)
{
    for (int i = 0; agent->ending.stop.phase == STOP_IDLE && i < agent->ranks.count; i++) {
        struct agent_rank *rank = agent->ranks.list[i];
        rank->ends_itself = rank->running && process_is_ending(rank->pid);
    }
}

static void agent_stop_ranks(struct agent *agent, int signum, uint64_t grace_ms)
{
    agent_reap(agent); /* children that have ended before did so by themselves */
    agent_note_ending_ranks(agent);
    apply(agent, stop_plan_ask(&agent->ending.stop, signum, grace_ms, uv_now(agent->loop)));
    if (agent->phase <= AGENT_IS_READY) /* nothing was started, and nothing will be */
        agent->phase = AGENT_SWEEPING;
    advance_ending(agent);
}

void agent_orphan(struct agent *agent)
{
    agent->phase = AGENT_ORPHANED;
    agent_streams_close(agent);
    agent_tunnels_hang_up(agent);
    apply(agent,
          stop_plan_ask(&agent->ending.stop, SIGTERM, AGENT_ORPHAN_GRACE_MS, uv_now(agent->loop)));
    advance_ending(agent);
}

void agent_give_up(struct agent *agent, const char *text)
{
    if (agent->phase >= AGENT_REFUSED)
        return;
    agent_send_failed(agent, -1, STEP_READY, STATUS_HOST_LOST, text);
    agent_orphan(agent);
}

/* A signal asks the agent itself to end: the job loses the host, in an orderly way. */
static void on_told_to_end(struct agent *agent, int signum)
{
    char text[128];
    if (agent->phase >= AGENT_SWEEPING)
        return;
    snprintf(text, sizeof text, "host lost: its agent (pid %d) was stopped by signal %d (SIG%s)",
             (int)getpid(), signum, sigabbrev_np(signum));
    agent_send_failed(agent, -1, STEP_READY, STATUS_HOST_LOST, text);
    agent->ending.unstarted = agent->phase <= AGENT_IS_READY;
    agent_stop_ranks(agent, SIGTERM, AGENT_ORPHAN_GRACE_MS);
}

static bool agent_can_drain(const struct agent *agent)
{
    return agent->setup.job.elastic && agent->phase == AGENT_RUNNING &&
           getppid() == agent->ending.parent;
}

/* The supervisor passes SIGTERM on, so the agent may get the signal twice. */
static void agent_drain(struct agent *agent)
{
    if (agent->ending.drains)
        return;
    agent->ending.drains = true;
    frame_link_begin(&agent->link, AGENT_DRAIN);
    frame_link_send(&agent->link);
}

static void on_agent_ending_signal(uv_signal_t *handle, int signum)
{
    struct agent *agent = handle->data;
    if (signum == SIGCHLD)
        advance_ending(agent);
    else if (signum == SIGTERM && agent_can_drain(agent))
        agent_drain(agent);
    else
        on_told_to_end(agent, signum);
}

int agent_on_stop(struct agent *agent, struct wire_reader *body, struct err *err)
{
    struct agent_stop stop_frame;
    int rc = agent_stop_decode(&stop_frame, body, err);
    if (rc < 0)
        return rc;
    if (stop_frame.signum <= 0 || stop_frame.signum >= NSIG)
        return fail(err, HVD_ERR_PROTOCOL, "STOP with signal %d", stop_frame.signum);
    agent_watch_told(agent, SIGCONT);
    agent_stop_ranks(agent, stop_frame.signum, stop_frame.grace_ms);
    return HVD_OK;
}

void agent_ending_init(struct agent *agent)
{
    static const int watched[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
    _Static_assert(sizeof watched / sizeof *watched ==
                       sizeof agent->ending.signals / sizeof *agent->ending.signals,
                   "a handle for each signal");
    struct sigaction hup;
    agent->ending.parent = getppid();
    sigaction(SIGHUP, NULL, &hup);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        uv_must(uv_signal_init(agent->loop, &agent->ending.signals[i]), "signals");
        agent->ending.signals[i].data = agent;
        if (watched[i] != SIGHUP || hup.sa_handler != SIG_IGN) /* nohup */
            uv_must(uv_signal_start(&agent->ending.signals[i], on_agent_ending_signal, watched[i]),
                    "signals");
    }
    uv_timer_init(agent->loop, &agent->ending.tick);
    agent->ending.tick.data = agent;
}
