/* SPDX-License-Identifier: Apache-2.0 */
/* Signals to hvdrun, which are meant for the whole job; hvdrun.c lists them (`watched`).
 * job_state.c decides about signals that end the job; other signals are passed on to the ranks.
 * Ctrl-Z stops the ranks on all hosts first, then hvdrun itself, when every agent has answered or
 * SUSPEND_MS have passed. SIGCONT calls the stop off, and so does a signal that ends the job. */
#include "launcher/job/job_impl.h"

#include <signal.h>

/* How long Ctrl-Z waits for hosts that do not answer, in time in which hvdrun ran: after a freeze,
 * an unread SIGCONT may be pending that calls the stop off. */
enum { SUSPEND_MS = 1000 };

/* A signal may have come and not been read. Before hvdrun stops itself, the loop runs this many
 * iterations, so that it has polled once, without waiting, since the last agent has answered. */
enum { TURNS = 2 };

void job_suspension_init(struct job *job)
{
    uv_idle_init(job->loop, &job->suspension.turns);
    job->suspension.turns.data = job;
}

void job_suspension_close(struct job *job)
{
    job_close_handle(job, (uv_handle_t *)&job->suspension.turns);
}

static bool all_agents_know(const struct job *job)
{
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i] && !job_host_has_read(job->hosts[i], job->suspension.since_us))
            return false;
    return true;
}

static void on_suspend_turn(uv_idle_t *idle)
{
    struct job *job = idle->data;
    if (++job->suspension.nturns < TURNS)
        return;
    uv_idle_stop(idle);
    if (!all_agents_know(job) && job->check.ran_ms < job->suspension.by_ms)
        return; /* a host has been connected meanwhile */
    job->suspension.since_us = 0;
    job->callbacks.on_suspended(job->context);
}

static void suspend_soon(struct job *job)
{
    if (uv_is_active((uv_handle_t *)&job->suspension.turns))
        return;
    job->suspension.nturns = 0;
    uv_idle_start(&job->suspension.turns, on_suspend_turn);
}

/* hvdrun may stop itself only when every agent has answered. A frame that is still queued would
 * stop with hvdrun, and an agent that has not read it would take hvdrun for lost. */
void job_on_alive(void *context, int host)
{
    struct job *job = context;
    (void)host;
    if (job->suspension.since_us && all_agents_know(job))
        suspend_soon(job);
}

void job_suspension_check(struct job *job)
{
    if (job->suspension.since_us && job->check.ran_ms >= job->suspension.by_ms)
        suspend_soon(job);
}

static void signal_ranks(struct job *job, int signum)
{
    job_tree_plan_casts(job);
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i])
            job_host_signal(job->hosts[i], signum, job_tree_cast(job, i));
}

static void suspend(struct job *job)
{
    job->suspension.since_us = uv_hrtime() / 1000;
    job->suspension.by_ms = job->check.ran_ms + SUSPEND_MS;
    signal_ranks(job, SIGSTOP);
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i])
            job_host_send_heartbeat(job->hosts[i]);
    job_on_alive(job, -1);
}

/* Continues the ranks, and cancels a pending stop of hvdrun. */
static void continue_ranks(struct job *job)
{
    job->suspension.since_us = 0;
    uv_idle_stop(&job->suspension.turns);
    signal_ranks(job, SIGCONT);
}

static void told_to_stop(struct job *job, int signum)
{
    char text[720];
    if (job->suspension.since_us)
        continue_ranks(job);
    job_interrupted_text(job, text, sizeof text);
    if (job->state.phase == JOB_FINISHED) /* only output is still on its way */
        job_stop_discard(job);
    else
        job_act(job, job_state_on_told_to_stop(&job->state, signum, text));
}

void job_signal(struct job *job, int signum)
{
    switch (signum) {
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
        told_to_stop(job, signum);
        break;
    case SIGTSTP:
        suspend(job);
        break;
    case SIGCONT:
        continue_ranks(job);
        if (job->stdin_reader)
            stdin_reader_wake(job->stdin_reader);
        break;
    default:
        signal_ranks(job, signum);
    }
}
