/* SPDX-License-Identifier: Apache-2.0 */
/* Deciding what becomes of a job; see job_state.h. */
#include "launcher/job_state.h"

#include "launcher/exit_status.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

void job_state_init(struct job_state *state, int nhosts, int nranks)
{
    *state = (struct job_state){
        .nhosts = nhosts, .nranks = nranks, .cause_rank = -1, .cause_host = -1
    };
}

/* Records the verdict if there is none yet, and stops the job. */
static enum job_action stop(struct job_state *state, enum job_cause cause, int exit_status,
                            int signum)
{
    if (state->cause == CAUSE_NONE) {
        state->cause = cause;
        state->exit_status = exit_status;
        state->stop_signal = signum;
    }
    if (state->phase >= JOB_STOPPING)
        return JOB_WAIT;
    state->phase = JOB_STOPPING;
    return JOB_STOP;
}

enum job_action job_state_on_host_ready(struct job_state *state)
{
    state->hosts_ready++;
    if (state->phase != JOB_PREPARING || state->hosts_ready < state->nhosts)
        return JOB_WAIT;
    state->phase = JOB_RUNNING;
    return JOB_START;
}

enum job_action job_state_on_rank_started(struct job_state *state)
{
    state->ranks_running++;
    return JOB_WAIT;
}

enum job_action job_state_on_rank_exited(struct job_state *state, int host, int rank,
                                         int wait_status, uint64_t after_ms)
{
    state->ranks_running--;
    if (state->cause != CAUSE_NONE) {
        state->terminated++;
        return JOB_WAIT;
    }
    if (wait_status == 0)
        return JOB_WAIT;
    state->cause_host = host;
    state->cause_rank = rank;
    state->cause_wait_status = wait_status;
    state->cause_after_ms = after_ms;
    return stop(state, CAUSE_RANK, wait_status_exit(wait_status), SIGTERM);
}

enum job_action job_state_on_rank_lost(struct job_state *state)
{
    state->ranks_running--;
    state->terminated++;
    return JOB_WAIT;
}

enum job_action job_state_on_host_failed(struct job_state *state, int host, int rank,
                                         int exit_status, const char *text)
{
    if (state->cause == CAUSE_NONE) {
        state->cause_host = host;
        state->cause_rank = rank;
        snprintf(state->cause_text, sizeof state->cause_text, "%s", text);
    }
    return stop(state, CAUSE_HOST, exit_status, SIGTERM);
}

/* It failed by itself, and not on that host. */
static bool has_given_up(const struct job_state *state, int host)
{
    int status = state->cause_wait_status;
    return state->cause == CAUSE_RANK && state->cause_host != host &&
           (WIFEXITED(status) || WTERMSIG(status) == SIGABRT);
}

enum job_action job_state_on_host_lost(struct job_state *state, int host, int exit_status,
                                       const char *text, bool silent)
{
    if (silent && has_given_up(state, host)) {
        state->cause = CAUSE_NONE;
        state->terminated++;
    }
    return job_state_on_host_failed(state, host, -1, exit_status, text);
}

enum job_action job_state_on_host_done(struct job_state *state)
{
    if (++state->hosts_done < state->nhosts)
        return JOB_WAIT;
    state->phase = JOB_FINISHED;
    return JOB_FINISH;
}

void job_state_on_left(struct job_state *state, int left)
{
    state->left = left > INT_MAX - state->left ? INT_MAX : state->left + left;
}

enum job_action job_state_on_told_to_stop(struct job_state *state, int signum)
{
    if (state->phase == JOB_FINISHED)
        return JOB_WAIT;
    state->told_to_stop = true;
    if (state->phase != JOB_STOPPING)
        return stop(state, CAUSE_SIGNAL, STATUS_SIGNAL + signum, signum);
    int harsher = signum == SIGINT ? SIGKILL : SIGTERM;
    if (state->stop_signal == SIGKILL || state->stop_signal == harsher)
        return JOB_WAIT;
    state->stop_signal = harsher;
    return JOB_STOP;
}

enum job_action job_state_on_failed(struct job_state *state, enum job_cause cause, int exit_status,
                                    const char *text)
{
    if (state->phase == JOB_FINISHED && cause != CAUSE_OUTPUT)
        return JOB_WAIT;
    if (state->cause == CAUSE_NONE)
        snprintf(state->cause_text, sizeof state->cause_text, "%s", text);
    return stop(state, cause, exit_status, SIGTERM);
}

int wait_status_exit(int wait_status)
{
    return WIFSIGNALED(wait_status) ? STATUS_SIGNAL + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}

void wait_status_text(char *text, unsigned long size, int wait_status)
{
    if (!WIFSIGNALED(wait_status)) {
        snprintf(text, size, "exited with status %d", WEXITSTATUS(wait_status));
        return;
    }
    int signum = WTERMSIG(wait_status);
    const char *name = sigabbrev_np(signum);
    snprintf(text, size, "killed by signal %d (%s%s%s)", signum, name ? "SIG" : "unknown",
             name ? name : "", WCOREDUMP(wait_status) ? ", core dumped" : "");
}
