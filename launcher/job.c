/* SPDX-License-Identifier: Apache-2.0 */
/* Running one job; see job.h. What to do is decided by job_state.c; here it is done: hosts are
 * reached, and what their agents say goes where it belongs. How long it may take to start is in
 * job_start.c, how it ends in job_stop.c and job_lost.c. Fails when output files cannot be created;
 * everything later becomes the job's verdict. */
#include "launcher/job_impl.h"

#include "launcher/exit_status.h"
#include "launcher/job_status.h"
#include "launcher/uv_must.h"
#include "launcher/xalloc.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* How many signs of life may be missed; when the status line is shown first, so that what is quick
 * does not flicker, and how often it changes; how long Ctrl-Z waits for hosts that do not answer.
 */
enum { BEATS_MISSED = 5, STATUS_FIRST_MS = 500, STATUS_MS = 200, SUSPEND_MS = 1000 };

uint64_t job_now_ms(void)
{
    return uv_hrtime() / 1000000;
}

const char *job_host_name(const struct job *job, int host)
{
    return job->options->plan->hosts[host].host->name;
}

void job_say(struct job *job, const char *line)
{
    job_output_say(job->output, "%s", line);
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
    job_output_say(job->output, "%.3f s: %s", (double)(job_now_ms() - job->created_ms) / 1000,
                   text);
}

/* Where hvdrun's own host is seen by one that was reached from it; "" if none can tell. */
static const char *own_address(const struct job *job)
{
    for (int i = 0; i < job->state.nhosts; i++)
        if (*job->hosts[i].facts.caller)
            return job->hosts[i].facts.caller;
    return "";
}

static void start_hosts(struct job *job)
{
    const char *address = own_address(job);
    uv_timer_stop(&job->status_timer);
    job_output_status(job->output, "");
    job->started_ms = job_now_ms();
    job_note(job, "every host is ready, starting the ranks (size %d)", job->state.nranks);
    for (int i = 0; i < job->state.nhosts; i++)
        job_host_start(&job->hosts[i], address);
}

void job_act(struct job *job, enum job_action action)
{
    switch (action) {
    case JOB_WAIT:
        break;
    case JOB_START:
        start_hosts(job);
        break;
    case JOB_STOP:
        job_stop_hosts(job);
        break;
    case JOB_FINISH:
        job_stop_finish(job);
        break;
    }
    job_stop_watch(job);
}

static void on_step(void *context, int host, enum host_step step)
{
    struct job *job = context;
    job_note(job, "%s: %s", job_host_name(job, host), host_step_name(step));
}

static void on_note(void *context, int host, bool important, const char *text)
{
    struct job *job = context;
    if (important)
        job_output_say(job->output, "%s: %s", job_host_name(job, host), text);
    else
        job_note(job, "%s: %s", job_host_name(job, host), text);
}

/* No agent there, and there will be none. With status 0 it was given up. */
static void on_unreached(void *context, int host, int exit_status, const char *text)
{
    struct job *job = context;
    char where[600];
    snprintf(where, sizeof where, "%s: %s", host_step_name(job->hosts[host].step), text);
    if (exit_status != 0) {
        job_tell_failure(job, host, where);
        job_act(job, job_state_on_host_failed(&job->state, host, -1, exit_status, where));
    }
    job_act(job, job_state_on_host_done(&job->state));
}

static void on_ready(void *context, int host)
{
    struct job *job = context;
    job_note(job, "host %s: rendezvous and status page at http://127.0.0.1:%u/",
             job_host_name(job, host), job->hosts[host].facts.relay_port);
    job_act(job, job_state_on_host_ready(&job->state));
}

static void on_failed(void *context, int host, const struct agent_failed *failed)
{
    struct job *job = context;
    job_tell_failure(job, host, failed->text);
    job_act(job, job_state_on_host_failed(&job->state, host, failed->rank, failed->exit_status,
                                          failed->text));
}

static void on_started(void *context, int rank, pid_t pid)
{
    struct job *job = context;
    job->pids[rank] = pid;
    job->nstarted++;
    job_note(job, "rank %d runs (pid %d)", rank, (int)pid);
    job->meeting.on_rank_started(job->meeting.context, rank, (int)pid);
    job_act(job, job_state_on_rank_started(&job->state));
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
    job_act(job, job_state_on_rank_exited(&job->state, job->options->plan->ranks[exited->rank].host,
                                          exited->rank, exited->wait_status, exited->after_ms));
    job->meeting.on_rank_ended(job->meeting.context, exited->rank, passive);
}

static void on_relay_open(void *context, int host, uint32_t id, bool own)
{
    struct job *job = context;
    job->meeting.on_open(job->meeting.context, host, id, own);
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

static void suspend_now(struct job *job)
{
    job->suspending_us = 0;
    job->callbacks.on_suspended(job->context);
}

/* When every agent knows, hvdrun may stop itself: what has only left for a connection stops with
 * us, and agents that are not told take our silence for the end. */
static void on_alive(void *context, int host)
{
    struct job *job = context;
    (void)host;
    if (job->suspending_us == 0)
        return;
    for (int i = 0; i < job->state.nhosts; i++)
        if (!job_host_has_read(&job->hosts[i], job->suspending_us))
            return;
    suspend_now(job);
}

/* In columns; that of a terminal which does not say is taken for 80. */
static int terminal_width(void)
{
    struct winsize size;
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
    return known ? size.ws_col : 80;
}

static void on_status(uv_timer_t *timer)
{
    struct job *job = timer->data;
    char text[160], line[200];
    struct job_status_host *hosts = xcalloc((size_t)job->state.nhosts, sizeof *hosts);
    for (int i = 0; i < job->state.nhosts; i++)
        hosts[i] = (struct job_status_host){ job_host_name(job, i), job->hosts[i].step,
                                             job->hosts[i].step_since_ms };
    job_status_text(text, sizeof text, hosts, job->state.nhosts, job_now_ms());
    snprintf(line, sizeof line, "hvdrun: %.*s", terminal_width() - 9, text);
    job_output_status(job->output, line);
    free(hosts);
}

/* Hosts are asked for a sign of life so often that several may be missed. */
static void on_look(uv_timer_t *timer)
{
    struct job *job = timer->data;
    uint32_t between_ms = job->options->silence_ms / BEATS_MISSED;
    bool beat = (uint32_t)++job->looks * SILENCE_LOOK_MS >= between_ms;
    for (int i = 0; i < job->state.nhosts; i++) {
        job_host_look(&job->hosts[i]);
        if (beat)
            job_host_beat(&job->hosts[i]);
    }
    if (beat)
        job->looks = 0;
    job_look_at_ends(job);
    job_look_at_start(job);
    if (job->suspending_us && uv_hrtime() / 1000 - job->suspending_us >= SUSPEND_MS * 1000)
        suspend_now(job);
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
    job_act(job, job_state_on_failed(&job->state, CAUSE_OUTPUT, STATUS_SIGNAL + SIGPIPE,
                                     "the reader of stdout has gone away"));
}

static struct job_output *create_output(struct job *job, struct err *err)
{
    static const struct job_output_events events = { on_credit, on_reader_gone,
                                                     job_on_output_finished };
    struct job_output_options options = {
        .nranks = job->options->plan->size,
        .directory = job->options->output_directory,
        .timestamps = job->options->timestamps,
        .stdout_closed = job->options->stdout_closed,
        .stderr_closed = job->options->stderr_closed,
    };
    return job_output_create(job->loop, &options, &events, job, err);
}

static void open_host(struct job *job, struct job_host *host)
{
    static const struct job_host_events events = {
        .on_step = on_step,
        .on_note = on_note,
        .on_unreached = on_unreached,
        .on_ready = on_ready,
        .on_failed = on_failed,
        .on_alive = on_alive,
        .on_started = on_started,
        .on_output = on_output,
        .on_output_end = on_output_end,
        .on_stdin_credit = on_stdin_credit,
        .on_exited = on_exited,
        .on_relay_open = on_relay_open,
        .on_relay_data = on_relay_data,
        .on_relay_end = on_relay_end,
        .on_done = job_on_host_done,
        .on_lost = job_on_host_lost,
        .on_agent_end = job_on_agent_end,
    };
    job_host_open(host, job->pool, job->loop, job->options, &events, job);
}

static void open_hosts(struct job *job)
{
    for (int i = 0; i < job->state.nhosts; i++) {
        job->hosts[i].index = i;
        job->hosts[i].where = &job->options->plan->hosts[i];
        open_host(job, &job->hosts[i]);
    }
}

/* The job's own timers. */
static void list_timers(struct job *job, uv_timer_t *timers[JOB_TIMERS])
{
    timers[0] = &job->stop_timer;
    timers[1] = &job->discard_timer;
    timers[2] = &job->sweep_timer;
    timers[3] = &job->look_timer;
    timers[4] = &job->status_timer;
}

static void init_handles(struct job *job)
{
    uv_timer_t *timers[JOB_TIMERS];
    list_timers(job, timers);
    for (int i = 0; i < JOB_TIMERS; i++) {
        uv_timer_init(job->loop, timers[i]);
        timers[i]->data = job;
    }
}

struct job *job_create(uv_loop_t *loop, const struct job_options *options,
                       const struct job_meeting *meeting, const struct job_callbacks *callbacks,
                       void *context, struct err *err)
{
    const struct rank_plan *plan = options->plan;
    struct job *job = xcalloc(1, sizeof *job);
    *job = (struct job){ .loop = loop,
                         .options = options,
                         .meeting = *meeting,
                         .callbacks = *callbacks,
                         .context = context,
                         .created_ms = job_now_ms() };
    init_handles(job);
    job_lost_init(job); /* before there are threads */
    job_state_init(&job->state, plan->host_count, plan->size);
    job->hosts = xcalloc((size_t)plan->host_count, sizeof *job->hosts);
    job->pids = xcalloc((size_t)plan->size, sizeof *job->pids);
    job->output = create_output(job, err);
    if (!job->output) {
        job_destroy(job);
        return NULL;
    }
    job->looked_ms = uv_now(loop);
    uv_timer_start(&job->look_timer, on_look, SILENCE_LOOK_MS, SILENCE_LOOK_MS);
    if (options->status_line)
        uv_timer_start(&job->status_timer, on_status, STATUS_FIRST_MS, STATUS_MS);
    job->pool = reach_pool_create(loop, options->reach, job->children);
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
    if (job->state.phase == JOB_FINISHED) /* only its output is still on the way */
        job_stop_discard(job);
    else
        job_act(job, job_state_on_told_to_stop(&job->state, signum));
}

static void suspend(struct job *job)
{
    job->suspending_us = uv_hrtime() / 1000;
    signal_ranks(job, SIGSTOP);
    for (int i = 0; i < job->state.nhosts; i++)
        job_host_beat(&job->hosts[i]);
    on_alive(job, -1);
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
        job->suspending_us = 0;
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
    job_act(job, job_state_on_failed(&job->state, CAUSE_JOB, exit_status, text));
}

static void on_part_closed(void *context)
{
    struct job *job = context;
    if (--job->open_parts > 0)
        return;
    reach_pool_destroy(job->pool);
    children_destroy(job->children);
    free(job->hosts);
    free(job->pids);
    free(job->elder_children);
    free(job);
}

static void on_handle_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

void job_destroy(struct job *job)
{
    if (!job)
        return;
    uv_timer_t *timers[JOB_TIMERS];
    list_timers(job, timers);
    job->open_parts = JOB_TIMERS + job->state.nhosts;
    for (int i = 0; i < JOB_TIMERS; i++)
        uv_close((uv_handle_t *)timers[i], on_handle_closed);
    stdin_reader_destroy(job->stdin_reader);
    job_output_destroy(job->output);
    for (int i = job->state.nhosts - 1; i >= 0; i--)
        job_host_close(&job->hosts[i], on_part_closed, job);
}
