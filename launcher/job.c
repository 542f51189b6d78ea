/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one job; see job.h. What to do is decided by job_state.c, and done from here: hosts
 * are reached, looked at again and again, told to start. What they say is in job_events.c, how long
 * it may take to start in job_start.c, how it ends in job_stop.c and job_lost.c. Fails when output
 * files cannot be created; everything later becomes the job's verdict. */
#include "launcher/job_impl.h"

#include "launcher/exit_status.h"
#include "launcher/job_status.h"
#include "launcher/xalloc.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* How many signs of life may be missed; when the status line is shown first, so that what is quick
 * does not flicker, and how often it changes. */
enum { BEATS_MISSED = 5, STATUS_FIRST_MS = 500, STATUS_MS = 200 };

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

/* A look that comes too late comes after a time in which nothing could be heard. */
static void count_time(struct job *job)
{
    uint64_t now_ms = uv_now(job->loop), passed_ms = now_ms - job->looked_ms;
    bool late = passed_ms > SILENCE_LOOK_MS + SILENCE_LATE_MS;
    job->looked_ms = now_ms;
    job->ran_ms += late ? SILENCE_LOOK_MS : passed_ms;
}

/* Hosts are asked for a sign of life so often that several may be missed. */
static void on_look(uv_timer_t *timer)
{
    struct job *job = timer->data;
    count_time(job);
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
    job_look_at_stop(job);
    job_look_at_start(job);
    job_look_at_suspension(job);
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
        .keep_lines = job->options->keep_lines,
        .stdout_closed = job->options->stdout_closed,
        .stderr_closed = job->options->stderr_closed,
    };
    return job_output_create(job->loop, &options, &events, job, err);
}

/* The job's own timers. */
static void list_timers(struct job *job, uv_timer_t *timers[JOB_TIMERS])
{
    timers[0] = &job->discard_timer;
    timers[1] = &job->sweep_timer;
    timers[2] = &job->look_timer;
    timers[3] = &job->status_timer;
    timers[4] = &job->timeout_timer;
}

static void init_handles(struct job *job)
{
    uv_timer_t *timers[JOB_TIMERS];
    list_timers(job, timers);
    for (int i = 0; i < JOB_TIMERS; i++) {
        uv_timer_init(job->loop, timers[i]);
        timers[i]->data = job;
    }
    uv_idle_init(job->loop, &job->suspend_turns);
    job->suspend_turns.data = job;
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
    job_report_init(&job->report, plan, options->id, options->epoch_ms, job->created_ms);
    job->output = create_output(job, err);
    if (!job->output) {
        job_destroy(job);
        return NULL;
    }
    job->looked_ms = uv_now(loop);
    uv_timer_start(&job->look_timer, on_look, SILENCE_LOOK_MS, SILENCE_LOOK_MS);
    if (options->status_line)
        uv_timer_start(&job->status_timer, on_status, STATUS_FIRST_MS, STATUS_MS);
    job_timeout_start(job);
    job->pool = reach_pool_create(loop, options->reach, job->children);
    job_open_hosts(job);
    return job;
}

char *job_last_lines(const struct job *job, int rank, bool of_stderr, size_t nbytes)
{
    return job_output_tail(job->output, rank, of_stderr ? STREAM_STDERR : STREAM_STDOUT, nbytes);
}

void job_rank_met(struct job *job, int rank)
{
    job->report.ranks[rank].met = true;
}

void job_rank_parted(struct job *job, int rank, int status, int origin, const char *text)
{
    job_record_parted(job, rank, status, origin, text);
}

void job_world_failed(struct job *job, int rank, int status, const char *text)
{
    job_record_origin(job, rank, status, text);
}

void job_rank_broke_off(struct job *job, int rank)
{
    job_record_broke_off(job, rank);
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
    job_report_fini(&job->report);
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
    job->open_parts = JOB_TIMERS + 1 + job->state.nhosts;
    for (int i = 0; i < JOB_TIMERS; i++)
        uv_close((uv_handle_t *)timers[i], on_handle_closed);
    uv_close((uv_handle_t *)&job->suspend_turns, on_handle_closed);
    stdin_reader_destroy(job->stdin_reader);
    job_output_destroy(job->output);
    for (int i = job->state.nhosts - 1; i >= 0; i--)
        job_host_close(&job->hosts[i], on_part_closed, job);
}
