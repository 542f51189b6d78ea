/* SPDX-License-Identifier: Apache-2.0 */
/* Running one job; see job.h. What to do is decided by job_state.c; here it is done.
 * Fails when output files cannot be created or no host can be reached at all; everything later
 * becomes the job's verdict. */
#include "launcher/job.h"

#include "launcher/exit_status.h"
#include "launcher/job_host.h"
#include "launcher/job_output.h"
#include "launcher/job_state.h"
#include "launcher/job_verdict.h"
#include "launcher/process_tree.h"
#include "launcher/stdin_reader.h"
#include "launcher/xalloc.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long the output of a job that was told to stop may still take to be written, once its ranks
 * have ended; how long an agent may take to end that is done or lost its link; how often what it
 * left behind is looked for. */
enum { DISCARD_MS = 1000, AGENT_END_MS = 500, SWEEP_MS = 20, SWEEPS_MAX = 100 };

struct job {
    uv_loop_t *loop;
    const struct job_options *options;
    struct job_meeting meeting;
    job_finished_fn on_finished;
    void *context;
    struct job_state state;
    struct job_host *hosts;
    int open_hosts; /* whose memory libuv still uses */
    pid_t *pids;    /* of the ranks, once they run */
    struct job_output *output;
    struct stdin_reader *stdin_reader;
    uv_signal_t sigchld;
    uv_timer_t start_timer; /* until every host is ready */
    uv_timer_t late_timer;  /* until agents that should have ended are killed */
    uv_timer_t end_timer;   /* for what must not take for ever at the end */
    uint64_t created_ms, started_ms;
    int sweeps;
    bool said, over;
};

static uint64_t now_ms(void)
{
    return uv_hrtime() / 1000000;
}

static const char *host_name(const struct job *job, int host)
{
    return job->options->plan->hosts[host].host->name;
}

void job_note(struct job *job, const char *format, ...)
{
    if (!job->options->verbose)
        return;
    char text[900];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    job_output_say(job->output, "%.3f s: %s", (double)(now_ms() - job->created_ms) / 1000, text);
}

static void finish(struct job *job, int exit_status)
{
    if (job->over)
        return;
    job->over = true;
    job->on_finished(job->context, exit_status);
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
                     job->started_ms ? now_ms() - job->started_ms : 0);
    job_output_say(job->output, "%s", text);
}

/* All output is written: now the verdict, then that too. */
static void on_output_finished(void *context)
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

/* Agents that still live, so that what they care for is left to them. */
static int live_agents(const struct job *job, pid_t *pids)
{
    int count = 0;
    for (int i = 0; i < job->state.nhosts; i++)
        if (job->hosts[i].agent > 0 && !job->hosts[i].agent_ended)
            pids[count++] = job->hosts[i].agent;
    return count;
}

/* A lost agent cannot clean up any more, but what it left on this machine has become ours. */
static int sweep_orphans(struct job *job)
{
    pid_t *spared = xcalloc((size_t)job->state.nhosts, sizeof *spared);
    int left = process_tree_signal(SIGKILL, spared, live_agents(job, spared));
    free(spared);
    return left;
}

static void on_sweep(uv_timer_t *timer)
{
    struct job *job = timer->data;
    int left = sweep_orphans(job);
    if (left > 0 && job->sweeps++ < SWEEPS_MAX)
        return;
    uv_timer_stop(timer);
    job->state.left += left;
    job_output_finish(job->output);
}

static void on_discard(uv_timer_t *timer)
{
    struct job *job = timer->data;
    job_output_discard(job->output);
}

/* A job that was told to stop does not wait for a reader who does not read. */
static void watch_end(struct job *job)
{
    if (job->state.cause == CAUSE_SIGNAL && job->state.ranks_running == 0 &&
        !uv_is_active((uv_handle_t *)&job->end_timer))
        uv_timer_start(&job->end_timer, on_discard, DISCARD_MS, DISCARD_MS);
}

static void finish_job(struct job *job)
{
    uv_timer_stop(&job->start_timer);
    bool lost = false;
    for (int i = 0; i < job->state.nhosts; i++)
        lost |= job->hosts[i].phase == HOST_LOST;
    if (lost) /* first of all, so that no process is left when the verdict is said */
        uv_timer_start(&job->end_timer, on_sweep, 0, SWEEP_MS);
    else
        job_output_finish(job->output);
}

static void act(struct job *job, enum job_action action)
{
    switch (action) {
    case JOB_WAIT:
        break;
    case JOB_START:
        uv_timer_stop(&job->start_timer);
        job->started_ms = now_ms();
        job_note(job, "every host is ready, starting the ranks (size %d)", job->state.nranks);
        for (int i = 0; i < job->state.nhosts; i++)
            job_host_start(&job->hosts[i]);
        break;
    case JOB_STOP:
        job_note(job, "stopping with signal %d", job->state.stop_signal);
        for (int i = 0; i < job->state.nhosts; i++)
            job_host_stop(&job->hosts[i], job->state.stop_signal, job->options->grace_ms);
        break;
    case JOB_FINISH:
        finish_job(job);
        break;
    }
    watch_end(job);
}

static void on_ready(void *context, int host)
{
    struct job *job = context;
    job_note(job, "%s is ready (agent pid %d)", host_name(job, host), (int)job->hosts[host].agent);
    act(job, job_state_on_host_ready(&job->state));
}

static void on_failed(void *context, int host, const struct agent_failed *failed)
{
    struct job *job = context;
    act(job, job_state_on_host_failed(&job->state, host, failed->rank, failed->exit_status,
                                      failed->text));
}

static void on_started(void *context, int rank, pid_t pid)
{
    struct job *job = context;
    job->pids[rank] = pid;
    job_note(job, "rank %d runs (pid %d)", rank, (int)pid);
    act(job, job_state_on_rank_started(&job->state));
}

static void on_output(void *context, int rank, enum output_stream stream, const char *data,
                      size_t length)
{
    struct job *job = context;
    job_output_take(job->output, rank, stream, data, length);
}

static void on_output_end(void *context, int rank, enum output_stream stream)
{
    struct job *job = context;
    job_output_end(job->output, rank, stream);
}

static void on_stdin_read(void *context, const char *data, size_t length)
{
    struct job *job = context;
    job_host_stdin(&job->hosts[0], data, length);
}

static void on_stdin_credit(void *context, uint32_t nbytes)
{
    struct job *job = context;
    if (job->options->stdin_closed) {
        job_host_stdin(&job->hosts[0], NULL, 0);
        return;
    }
    if (!job->stdin_reader)
        job->stdin_reader = stdin_reader_create(job->loop, STDIN_FILENO, on_stdin_read, job);
    stdin_reader_want(job->stdin_reader, nbytes);
}

static void on_exited(void *context, const struct agent_exited *exited)
{
    struct job *job = context;
    char how[96], passive[112];
    wait_status_text(how, sizeof how, exited->wait_status);
    job_note(job, "rank %d %s", exited->rank, how);
    snprintf(passive, sizeof passive, "%s%s", WIFSIGNALED(exited->wait_status) ? "was " : "", how);
    act(job,
        job_state_on_rank_exited(&job->state, exited->rank, exited->wait_status, exited->after_ms));
    job->meeting.on_rank_ended(job->meeting.context, exited->rank, passive);
}

static void on_relay_open(void *context, int host, uint32_t id)
{
    struct job *job = context;
    job->meeting.on_open(job->meeting.context, host, id);
}

static void on_relay_data(void *context, int host, uint32_t id, const void *data, size_t length)
{
    struct job *job = context;
    job->meeting.on_data(job->meeting.context, host, id, data, length);
}

static void on_relay_end(void *context, int host, uint32_t id)
{
    struct job *job = context;
    job->meeting.on_end(job->meeting.context, host, id);
}

static void on_late(uv_timer_t *timer);

static void on_done(void *context, int host, int left)
{
    struct job *job = context;
    job_note(job, "%s is done", host_name(job, host));
    job->state.left += left;
    if (job->hosts[host].agent_ended)
        act(job, job_state_on_host_done(&job->state));
    else
        uv_timer_start(&job->late_timer, on_late, AGENT_END_MS, 0);
}

/* The ranks of a lost host are as good as dead, and their output has ended. */
static void give_up_ranks(struct job *job, struct job_host *host)
{
    for (int i = 0; i < host->where->local_size; i++) {
        int rank = host->where->first_rank + i;
        if (host->ranks[i] != RANK_RUNNING)
            continue;
        host->ranks[i] = RANK_ENDED;
        job_state_on_rank_lost(&job->state);
        job->meeting.on_rank_ended(job->meeting.context, rank, "was lost with its host's agent");
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            job_output_end(job->output, rank, (enum output_stream)stream);
    }
}

/* What is known of the end of an agent; `killed`: by us, because it lived on without its link. */
static void agent_end_text(const struct job_host *host, char *text, size_t size)
{
    char how[96];
    wait_status_text(how, sizeof how, host->agent_status);
    if (host->agent_killed)
        snprintf(text, size, "host lost: its agent (pid %d) closed its link%s%s", (int)host->agent,
                 *host->lost_reason ? ": " : "", host->lost_reason);
    else
        snprintf(text, size, "host lost: its agent (pid %d) %s%s", (int)host->agent,
                 WIFSIGNALED(host->agent_status) ? "was " : "", how);
}

/* Both the link and the agent have ended, too early. */
static void lose_host(struct job *job, struct job_host *host)
{
    char text[700];
    agent_end_text(host, text, sizeof text);
    act(job, job_state_on_host_failed(&job->state, host->index, -1, host->lost_status, text));
    job->meeting.on_lost(job->meeting.context, host->index);
    give_up_ranks(job, host);
    sweep_orphans(job);
    act(job, job_state_on_host_done(&job->state));
}

static void on_lost(void *context, int index)
{
    struct job *job = context;
    struct job_host *host = &job->hosts[index];
    if (host->agent_ended)
        lose_host(job, host);
    else
        uv_timer_start(&job->late_timer, on_late, AGENT_END_MS, 0);
}

/* Agents that are done, or lost their links, have had their time to end by themselves. */
static void on_late(uv_timer_t *timer)
{
    struct job *job = timer->data;
    for (int i = 0; i < job->state.nhosts; i++) {
        struct job_host *host = &job->hosts[i];
        if (host->phase < HOST_DONE || host->agent_ended)
            continue;
        host->agent_killed = true;
        kill(host->agent, SIGKILL);
    }
}

static void note_agent_end(struct job *job, pid_t pid, int status)
{
    for (int i = 0; i < job->state.nhosts; i++) {
        struct job_host *host = &job->hosts[i];
        if (host->agent != pid || host->agent_ended)
            continue;
        host->agent_ended = true;
        host->agent_status = status;
        if (host->phase == HOST_LOST)
            lose_host(job, host);
        else if (host->phase == HOST_DONE)
            act(job, job_state_on_host_done(&job->state));
    }
}

/* Agents, and orphans that became ours. */
static void on_sigchld(uv_signal_t *handle, int signum)
{
    struct job *job = handle->data;
    pid_t pid;
    (void)signum;
    for (int status; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        note_agent_end(job, pid, status);
}

static void on_start_timeout(uv_timer_t *timer)
{
    struct job *job = timer->data;
    char text[400] = "not ready in time (--start-timeout):";
    for (int i = 0; i < job->state.nhosts; i++) {
        size_t used = strlen(text);
        if (job->hosts[i].phase == HOST_DESCRIBING)
            snprintf(text + used, sizeof text - used, " %s", host_name(job, i));
    }
    job_fail(job, STATUS_TIMEOUT, text);
}

static void on_credit(void *context, int rank, enum output_stream stream, uint32_t nbytes)
{
    struct job *job = context;
    int host = job->options->plan->ranks[rank].host;
    job_host_credit(&job->hosts[host], rank, stream, nbytes);
}

static void on_reader_gone(void *context)
{
    struct job *job = context;
    act(job, job_state_on_failed(&job->state, CAUSE_OUTPUT, STATUS_SIGNAL + SIGPIPE,
                                 "the reader of stdout has gone away"));
}

static struct job_output *create_output(struct job *job, struct err *err)
{
    static const struct job_output_events events = { on_credit, on_reader_gone,
                                                     on_output_finished };
    struct job_output_options options = {
        .nranks = job->options->plan->size,
        .directory = job->options->output_directory,
        .timestamps = job->options->timestamps,
        .stdout_closed = job->options->stdout_closed,
        .stderr_closed = job->options->stderr_closed,
    };
    return job_output_create(job->loop, &options, &events, job, err);
}

static void open_hosts(struct job *job)
{
    static const struct job_host_events events = {
        on_ready,  on_failed,     on_started,    on_output,    on_output_end, on_stdin_credit,
        on_exited, on_relay_open, on_relay_data, on_relay_end, on_done,       on_lost,
    };
    for (int i = 0; i < job->state.nhosts; i++) {
        struct job_host *host = &job->hosts[i];
        struct err err = { 0 };
        host->index = i;
        host->where = &job->options->plan->hosts[i];
        if (job_host_open(host, job->loop, job->options, &events, job, &err) < 0) {
            act(job, job_state_on_host_failed(&job->state, i, -1, STATUS_RESOURCE, err.text));
            act(job, job_state_on_host_done(&job->state));
        }
    }
}

static void watch(struct job *job)
{
    uv_timer_t *const timers[] = { &job->start_timer, &job->end_timer, &job->late_timer };
    for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
        uv_timer_init(job->loop, timers[i]);
        timers[i]->data = job;
    }
    uv_timer_start(&job->start_timer, on_start_timeout, job->options->start_timeout_ms, 0);
    uv_signal_init(job->loop, &job->sigchld);
    job->sigchld.data = job;
    uv_signal_start(&job->sigchld, on_sigchld, SIGCHLD);
}

struct job *job_create(uv_loop_t *loop, const struct job_options *options,
                       const struct job_meeting *meeting, job_finished_fn on_finished,
                       void *context, struct err *err)
{
    const struct rank_plan *plan = options->plan;
    struct job *job = xcalloc(1, sizeof *job);
    *job = (struct job){ .loop = loop,
                         .options = options,
                         .meeting = *meeting,
                         .on_finished = on_finished,
                         .context = context,
                         .created_ms = now_ms() };
    job->output = create_output(job, err);
    if (!job->output) {
        free(job);
        return NULL;
    }
    job_state_init(&job->state, plan->host_count, plan->size);
    job->hosts = xcalloc((size_t)plan->host_count, sizeof *job->hosts);
    job->pids = xcalloc((size_t)plan->size, sizeof *job->pids);
    process_tree_adopt();
    watch(job);
    open_hosts(job);
    return job;
}

void job_relay_send(struct job *job, int host, uint32_t id, const void *data, size_t length)
{
    job_host_relay_data(&job->hosts[host], id, data, length);
}

void job_relay_end(struct job *job, int host, uint32_t id)
{
    job_host_relay_end(&job->hosts[host], id);
}

static void signal_ranks(struct job *job, int signum)
{
    for (int i = 0; i < job->state.nhosts; i++)
        job_host_signal(&job->hosts[i], signum);
}

static void told_to_stop(struct job *job, int signum)
{
    if (job->state.phase ==
        JOB_FINISHED) { /* only its output is still on the way: nobody waits for it */
        job_output_discard(job->output);
        return;
    }
    act(job, job_state_on_told_to_stop(&job->state, signum));
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
        signal_ranks(job, SIGSTOP);
        kill(getpid(), SIGSTOP);
        break;
    case SIGCONT:
        if (job->stdin_reader)
            stdin_reader_wake(job->stdin_reader);
        signal_ranks(job, SIGCONT);
        break;
    default:
        signal_ranks(job, signum);
    }
}

void job_fail(struct job *job, int exit_status, const char *text)
{
    act(job, job_state_on_failed(&job->state, CAUSE_JOB, exit_status, text));
}

static void on_host_closed(void *context)
{
    struct job *job = context;
    if (--job->open_hosts > 0)
        return;
    free(job->hosts);
    free(job->pids);
    free(job);
}

void job_destroy(struct job *job)
{
    if (!job)
        return;
    uv_close((uv_handle_t *)&job->sigchld, NULL);
    uv_close((uv_handle_t *)&job->start_timer, NULL);
    uv_close((uv_handle_t *)&job->end_timer, NULL);
    uv_close((uv_handle_t *)&job->late_timer, NULL);
    stdin_reader_destroy(job->stdin_reader);
    job_output_destroy(job->output);
    job->open_hosts = job->state.nhosts;
    for (int i = job->state.nhosts - 1; i >= 0; i--)
        job_host_close(&job->hosts[i], on_host_closed);
}
