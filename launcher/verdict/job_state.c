/* SPDX-License-Identifier: Apache-2.0 */
/* Deciding the course of a job; see job_state.h. */
#include "launcher/verdict/job_state.h"

#include "launcher/base/exit_status.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

void job_state_init(struct job_state *state, int nhosts, int nranks)
{
    *state = (struct job_state){
        .nhosts = nhosts, .nranks = nranks, .verdict = { .rank = -1, .host = -1 }, .lost_host = -1
    };
}

void job_state_init_elastic(struct job_state *state)
{
    job_state_init(state, 0, 0);
    state->elastic = true;
}

void job_state_on_host_added(struct job_state *state, int nranks)
{
    state->nhosts++;
    state->nranks += nranks;
}

/* Stops the hosts that there are; an elastic job may have none at all. */
static enum job_action enter_stopping(struct job_state *state)
{
    bool has_hosts = state->hosts_done < state->nhosts;
    state->phase = has_hosts ? JOB_STOPPING : JOB_FINISHED;
    return has_hosts ? JOB_STOP : JOB_FINISH;
}

/* An end that stops nothing: that of a rank or a host of an elastic job. */
static bool is_let_be(const struct job_state *state)
{
    return state->elastic && state->verdict.cause == CAUSE_NONE;
}

/* Records the verdict if there is none yet, and stops the job. */
static enum job_action job_state_stop(struct job_state *state, enum job_cause cause,
                                      int exit_status, int signum)
{
    if (state->verdict.cause == CAUSE_NONE) {
        state->verdict.cause = cause;
        state->verdict.exit_status = exit_status;
        state->stop_signal = signum;
    }
    return state->phase >= JOB_STOPPING ? JOB_WAIT : enter_stopping(state);
}

enum job_action job_state_on_end(struct job_state *state)
{
    if (state->phase >= JOB_STOPPING)
        return JOB_WAIT;
    state->stop_signal = SIGTERM;
    return enter_stopping(state);
}

enum job_action job_state_on_host_ready(struct job_state *state)
{
    state->hosts_ready++;
    if (state->elastic) {
        if (state->phase == JOB_PREPARING)
            state->phase = JOB_RUNNING;
        return state->phase == JOB_RUNNING ? JOB_START : JOB_WAIT;
    }
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

static enum job_action fail_rank(struct job_state *state, int host, int rank,
                                 const struct rank_end_how *how, uint64_t after_ms)
{
    state->verdict.host = host;
    state->verdict.rank = rank;
    state->verdict.how = *how;
    state->verdict.after_ms = after_ms;
    return job_state_stop(state, CAUSE_RANK, rank_end_exit_status(how), SIGTERM);
}

enum job_action job_state_on_rank_exited(struct job_state *state, int host, int rank,
                                         const struct rank_end_how *how, uint64_t after_ms)
{
    bool is_cause =
        state->verdict.cause == CAUSE_RANK && state->verdict.rank == rank; /* it was stopped by a
                                                                              * signal */
    state->ranks_running--;
    if (state->verdict.cause != CAUSE_NONE) {
        state->terminated += !is_cause;
        return JOB_WAIT;
    }
    if (rank_end_is_clean_exit(how) || is_let_be(state))
        return JOB_WAIT;
    return fail_rank(state, host, rank, how, after_ms);
}

enum job_action job_state_on_rank_stopped(struct job_state *state, int host, int rank,
                                          const struct rank_end_how *how, uint64_t after_ms)
{
    if (state->verdict.cause != CAUSE_NONE)
        return JOB_WAIT;
    return fail_rank(state, host, rank, how, after_ms);
}

enum job_action job_state_on_rank_lost(struct job_state *state)
{
    state->ranks_running--;
    state->terminated += !is_let_be(state);
    return JOB_WAIT;
}

enum job_action job_state_on_host_failed(struct job_state *state, int host, int rank,
                                         int exit_status, const char *text)
{
    if (is_let_be(state))
        return JOB_WAIT;
    if (state->verdict.cause == CAUSE_NONE) {
        state->verdict.host = host;
        state->verdict.rank = rank;
        snprintf(state->verdict.text, sizeof state->verdict.text, "%s", text);
    }
    return job_state_stop(state, CAUSE_HOST, exit_status, SIGTERM);
}

/* The verdict's rank failed by itself, and not on that host. */
static bool has_given_up(const struct job_state *state, int host)
{
    return state->verdict.cause == CAUSE_RANK && state->verdict.host != host &&
           rank_end_gave_up(&state->verdict.how);
}

enum job_action job_state_on_host_lost(struct job_state *state, int host, int exit_status,
                                       const char *text, bool silent)
{
    if (silent && has_given_up(state, host)) {
        state->verdict.cause = CAUSE_NONE;
        state->terminated++;
    }
    if (state->verdict.cause != CAUSE_NONE && state->lost_host < 0) {
        state->lost_host = host;
        state->lost_status = exit_status;
        snprintf(state->lost_text, sizeof state->lost_text, "%s", text);
    }
    return job_state_on_host_failed(state, host, -1, exit_status, text);
}

enum job_action job_state_on_host_done(struct job_state *state)
{
    if (++state->hosts_done < state->nhosts || (state->elastic && state->phase < JOB_STOPPING))
        return JOB_WAIT;
    state->phase = JOB_FINISHED;
    return JOB_FINISH;
}

void job_state_on_left(struct job_state *state, int left)
{
    state->left = left > INT_MAX - state->left ? INT_MAX : state->left + left;
}

enum job_action job_state_on_told_to_stop(struct job_state *state, int signum, const char *text)
{
    if (state->phase == JOB_FINISHED)
        return JOB_WAIT;
    state->told_to_stop = true;
    if (state->verdict.cause == CAUSE_NONE)
        snprintf(state->verdict.text, sizeof state->verdict.text, "%s", text);
    if (state->phase != JOB_STOPPING)
        return job_state_stop(state, CAUSE_SIGNAL, STATUS_SIGNAL + signum, signum);
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
    if (state->verdict.cause == CAUSE_NONE)
        snprintf(state->verdict.text, sizeof state->verdict.text, "%s", text);
    return job_state_stop(state, cause, exit_status, SIGTERM);
}

enum job_action job_state_on_timeout(struct job_state *state, int exit_status, const char *text)
{
    state->told_to_stop = true;
    if (state->verdict.cause == CAUSE_NONE)
        snprintf(state->verdict.text, sizeof state->verdict.text, "%s", text);
    return job_state_stop(state, CAUSE_TIMEOUT, exit_status, SIGTERM);
}

/* A rank stopped by a signal has not exited, so the exit of another rank cannot explain it. */
static bool is_stop(const struct job_state *state)
{
    return state->verdict.cause == CAUSE_RANK && state->verdict.how.kind == RANK_END_STOPPED;
}

void job_state_blame(struct job_state *state, int host, int rank, const struct rank_end_how *how,
                     uint64_t after_ms, const char *text)
{
    if (is_stop(state))
        return;
    state->verdict.host = host;
    state->verdict.rank = rank;
    state->verdict.how = *how;
    state->verdict.after_ms = after_ms;
    state->verdict.exit_status = rank_end_exit_status(how);
    snprintf(state->verdict.text, sizeof state->verdict.text, "%s", text);
}

void job_state_blame_left(struct job_state *state, int host, int rank, int reporter,
                          bool terminated, int exit_status, const char *text)
{
    if (is_stop(state))
        return;
    /* the former cause counts as another rank now, and `rank` does not */
    state->terminated += state->verdict.rank != rank && !terminated;
    state->verdict.cause = CAUSE_LEFT;
    state->verdict.host = host;
    state->verdict.rank = rank;
    state->verdict.reporter = reporter;
    state->verdict.exit_status = exit_status;
    snprintf(state->verdict.text, sizeof state->verdict.text, "%s", text);
}

void job_state_blame_wrote(struct job_state *state, int host, int rank, int reporter,
                           bool terminated, int exit_status, const char *text)
{
    job_state_blame_left(state, host, rank, reporter, terminated, exit_status, text);
    state->verdict.wrote = state->verdict.cause == CAUSE_LEFT;
}

void job_state_blame_host(struct job_state *state, int host, int exit_status, const char *text)
{
    if (is_stop(state))
        return;
    state->terminated += state->verdict.cause == CAUSE_RANK; /* which counts as another rank now */
    state->verdict.cause = CAUSE_HOST;
    state->verdict.host = host;
    state->verdict.rank = -1;
    state->verdict.exit_status = exit_status;
    snprintf(state->verdict.text, sizeof state->verdict.text, "%s", text);
}
