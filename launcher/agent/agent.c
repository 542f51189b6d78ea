/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an agent; see agent.h. A table gives each frame to its handler. A malformed frame, or
 * a frame out of turn, breaks the link. When the link ends before DONE, or at the heartbeat
 * timeout, the agent kills everything that it has started. On SIGTERM, SIGINT or SIGHUP the agent
 * does the same and reports the host as lost. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/process/process_tree.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TICK_MS = STOP_KILL_AGAIN_MS };

static void close_everything(struct agent *agent)
{
    if (agent->link.closing)
        return;
    uv_timer_stop(&agent->ending.tick);
    uv_close((uv_handle_t *)&agent->ending.tick, NULL);
    agent_watch_close(agent);
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
        close_everything(agent);
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
    if ((!children || given_up) && ended)
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
        close_everything(agent);
}

static void on_tick(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    int signum = stop_plan_advance(&agent->ending.stop, uv_now(agent->loop));
    if (signum != 0)
        agent_signal_everything(agent, signum);
    advance_ending(agent);
}

static void agent_stop_ranks(struct agent *agent, int signum, uint64_t grace_ms)
{
    agent_reap(agent); /* children that have ended before did so by themselves */
    apply(agent, stop_plan_ask(&agent->ending.stop, signum, grace_ms, uv_now(agent->loop)));
    if (agent->phase <= AGENT_IS_READY) /* nothing was started, and nothing will be */
        agent->phase = AGENT_SWEEPING;
    advance_ending(agent);
}

static void orphan(struct agent *agent)
{
    agent->phase = AGENT_ORPHANED;
    agent_streams_close(agent);
    apply(agent,
          stop_plan_ask(&agent->ending.stop, SIGTERM, AGENT_ORPHAN_GRACE_MS, uv_now(agent->loop)));
    advance_ending(agent);
}

void agent_give_up(struct agent *agent, const char *text)
{
    if (agent->phase >= AGENT_REFUSED)
        return;
    agent_send_failed(agent, -1, STEP_READY, STATUS_HOST_LOST, text);
    orphan(agent);
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
    agent_stop_ranks(agent, SIGTERM, AGENT_ORPHAN_GRACE_MS);
}

static void on_agent_signal(uv_signal_t *handle, int signum)
{
    struct agent *agent = handle->data;
    if (signum == SIGCHLD)
        advance_ending(agent);
    else
        on_told_to_end(agent, signum);
}

static int on_stop(struct agent *agent, struct wire_reader *body, struct err *err)
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

typedef int (*frame_fn)(struct agent *agent, struct wire_reader *body, struct err *err);

/* The frames, and the phases [first, last] in which each may come. */
static const struct {
    frame_fn handle;
    enum agent_phase first, last;
} handlers[AGENT_FRAME_TYPES] = {
    [AGENT_JOB] = { agent_on_job, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_ARGUMENTS] = { agent_on_arguments, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_ENVIRONMENT] = { agent_on_environment, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_RANK] = { agent_on_rank, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_PREPARE] = { agent_on_prepare, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_SWEEP] = { agent_on_sweep, AGENT_RECEIVING, AGENT_RECEIVING },
    [AGENT_START] = { agent_on_start, AGENT_IS_READY, AGENT_IS_READY },
    [AGENT_CREDIT] = { agent_on_credit, AGENT_RUNNING, AGENT_IS_DONE },
    [AGENT_STDIN] = { agent_on_stdin, AGENT_RUNNING, AGENT_IS_DONE },
    [AGENT_SIGNAL] = { agent_on_signal, AGENT_RECEIVING, AGENT_IS_DONE },
    [AGENT_STOP] = { on_stop, AGENT_RECEIVING, AGENT_IS_DONE },
    [AGENT_RELAY_DATA] = { agent_on_relay_data, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_RELAY_END] = { agent_on_relay_end, AGENT_IS_READY, AGENT_IS_DONE },
    [AGENT_HEARTBEAT] = { agent_on_heartbeat, AGENT_RECEIVING, AGENT_IS_DONE },
};

static int on_agent_frame(void *context, const struct frame *frame, struct err *err)
{
    struct agent *agent = context;
    if (agent->phase >= AGENT_REFUSED)
        return HVD_OK;
    if (frame->type >= AGENT_FRAME_TYPES || !handlers[frame->type].handle)
        return fail(err, HVD_ERR_PROTOCOL, "frame of unknown type %u", frame->type);
    if (agent->phase < handlers[frame->type].first || agent->phase > handlers[frame->type].last)
        return fail(err, HVD_ERR_PROTOCOL, "%s frame out of turn", agent_frame_name(frame->type));
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    return handlers[frame->type].handle(agent, &body, err);
}

static void on_agent_link_end(void *context, const struct err *err)
{
    struct agent *agent = context;
    if (err->code == HVD_ERR_PROTOCOL || err->code == HVD_ERR_NOMEM)
        fprintf(stderr, "hvdagent: link to hvdrun: %s\n", err->text);
    orphan(agent);
}

static void on_link_drained(void *context)
{
    struct agent *agent = context;
    if (agent->phase == AGENT_IS_DONE || agent->phase == AGENT_REFUSED) {
        close_everything(agent);
        return;
    }
    agent_relay_resume(agent);
    agent_pumps_resume(agent);
}

void agent_send_failed(struct agent *agent, int rank, enum host_step step, int exit_status,
                       const char *text)
{
    struct agent_failed failed = { rank, (uint8_t)step, exit_status, "" };
    snprintf(failed.text, sizeof failed.text, "%s", text);
    agent_failed_encode(frame_link_begin(&agent->link, AGENT_FAILED), &failed);
    frame_link_send(&agent->link);
}

static void agent_watch_signals(struct agent *agent)
{
    static const int watched[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP };
    _Static_assert(sizeof watched / sizeof *watched ==
                       sizeof agent->ending.signals / sizeof *agent->ending.signals,
                   "a handle for each signal");
    struct sigaction hup;
    sigaction(SIGHUP, NULL, &hup);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++) {
        uv_must(uv_signal_init(agent->loop, &agent->ending.signals[i]), "signals");
        agent->ending.signals[i].data = agent;
        if (watched[i] != SIGHUP || hup.sa_handler != SIG_IGN) /* nohup */
            uv_must(uv_signal_start(&agent->ending.signals[i], on_agent_signal, watched[i]),
                    "signals");
    }
}

void agent_release(struct agent *agent)
{
    agent_ranks_fini(agent);
    binding_places_fini(&agent->places);
    agent_environment_fini(agent);
    agent_setup_fini(agent);
    free(agent);
}

struct agent *agent_open(uv_loop_t *loop, int input, int output, uint32_t relay_stall_ms,
                         struct err *err)
{
    static const struct frame_link_events events = { on_agent_frame, on_agent_link_end,
                                                     on_link_drained, agent_watch_heard };
    struct agent *agent = xcalloc(1, sizeof *agent);
    agent->loop = loop;
    agent->relay.stall_ms = relay_stall_ms;
    process_tree_adopt();
    agent_watch_signals(agent);
    uv_timer_init(loop, &agent->ending.tick);
    agent->ending.tick.data = agent;
    agent_watch_init(agent);
    if (frame_link_open(&agent->link, loop, input, output, &events, agent, err) < 0) {
        fprintf(stderr, "hvdagent: %s\n", err->text);
        orphan(agent);
    }
    return agent;
}

int agent_run(uv_loop_t *loop, int input, int output, uint32_t relay_stall_ms)
{
    struct err err = { 0 };
    struct agent *agent = agent_open(loop, input, output, relay_stall_ms, &err);
    uv_run(loop, UV_RUN_DEFAULT);
    agent_release(agent);
    return err.code == HVD_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
