/* SPDX-License-Identifier: Apache-2.0 */
/* Bringing a job to an end: ranks are stopped, output is written or given up, the verdict is said.
 * Nothing here waits without a limit, except for a reader of the output that a job which was not
 * told to stop still has. */
#include "launcher/job_impl.h"

#include "launcher/exit_status.h"
#include "launcher/job_verdict.h"
#include "launcher/stop_plan.h"

#include <signal.h>
#include <string.h>

/* How long the output of a job that was told to stop may still take to be written, once its ranks
 * have ended; how often what lost agents left behind is looked for; how much longer than planned an
 * agent may take to stop its ranks. */
enum { DISCARD_MS = 1000, SWEEP_MS = 20, SWEEPS_MAX = 100, STOP_SLACK_MS = 500 };

static void finish(struct job *job, int exit_status)
{
    if (job->over)
        return;
    job->over = true;
    job->callbacks.on_finished(job->context, exit_status);
}

static void say_verdict(struct job *job)
{
    struct job_state *state = &job->state;
    if (state->cause == CAUSE_NONE && job_output_lost(job->output)) {
        state->exit_status = STATUS_OUTPUT_LOST;
        job_output_say(job->output, "FAILED: output was lost; all ranks exited with status 0");
    }
    if (state->cause == CAUSE_NONE)
        return;
    char text[1024];
    pid_t pid = state->cause == CAUSE_RANK ? job->pids[state->cause_rank] : 0;
    const char *last =
        state->cause == CAUSE_RANK ? job_output_last_words(job->output, state->cause_rank) : "";
    if (*last)
        job_output_say(job->output, "rank %d last wrote to stderr: %s", state->cause_rank, last);
    job_verdict_text(text, sizeof text, state, job->options->plan, pid,
                     job->started_ms ? job_now_ms() - job->started_ms : 0);
    bool red = job->options->colour && strncmp(text, "FAILED", 6) == 0;
    job_output_say(job->output, "%s%.*s%s%s", red ? "\033[1;31m" : "", red ? 6 : 0, text,
                   red ? "\033[0m" : "", red ? text + 6 : text);
}

/* All output is written: now the verdict, then that too. */
void job_on_output_finished(void *context)
{
    struct job *job = context;
    if (job->said) {
        finish(job, job->state.exit_status);
        return;
    }
    job->said = true;
    say_verdict(job);
    job_output_finish(job->output);
}

static void on_sweep(uv_timer_t *timer)
{
    struct job *job = timer->data;
    int left = job_sweep_orphans(job);
    if (left > 0 && job->sweeps++ < SWEEPS_MAX)
        return;
    uv_timer_stop(timer);
    job_state_on_left(&job->state, left);
    job_output_finish(job->output);
}

void job_stop_finish(struct job *job)
{
    uv_timer_stop(&job->status_timer);
    job_output_status(job->output, "");
    uv_timer_stop(&job->stop_timer);
    bool lost = false;
    for (int i = 0; i < job->state.nhosts; i++)
        lost |= job->hosts[i].local && job->hosts[i].phase == HOST_LOST;
    if (lost) /* first of all, so that no process is left when the verdict is said */
        uv_timer_start(&job->sweep_timer, on_sweep, 0, SWEEP_MS);
    else
        job_output_finish(job->output);
}

static void on_discard(uv_timer_t *timer)
{
    job_stop_discard(timer->data);
}

void job_stop_discard(struct job *job)
{
    job_output_discard(job->output);
}

/* A job that was told to stop does not wait for a reader who does not read, least of all when it
 * was told twice. */
void job_stop_watch(struct job *job)
{
    const struct job_state *state = &job->state;
    bool due = state->told_to_stop && (state->ranks_running == 0 || state->stop_signal == SIGKILL);
    if (due && !uv_is_active((uv_handle_t *)&job->discard_timer))
        uv_timer_start(&job->discard_timer, on_discard, DISCARD_MS, DISCARD_MS);
}

/* An agent that is stopped, or hangs, has had its time; its ranks end with it. */
static void on_stop_limit(uv_timer_t *timer)
{
    job_kill_agents(timer->data, HOST_DESCRIBING, HOST_RUNNING);
}

static uint64_t stop_limit_ms(const struct job *job)
{
    uint64_t asking =
        job->state.stop_signal == SIGKILL ? 0 : job->options->grace_ms + STOP_INSIST_MS;
    return asking + STOP_KILL_MS + STOP_SLACK_MS;
}

void job_stop_hosts(struct job *job)
{
    job_note(job, "stopping with signal %d", job->state.stop_signal);
    if (job->stopping_ms == 0)
        job->stopping_ms = uv_now(job->loop);
    for (int i = job->state.nhosts - 1; i >= 0; i--) /* those that wait for their turn get none */
        job_host_stop(&job->hosts[i], job->state.stop_signal, job->options->grace_ms);
    uv_timer_start(&job->stop_timer, on_stop_limit, stop_limit_ms(job), 0);
}
