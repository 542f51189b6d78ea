/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one job; see job.h. job_state.c decides, this file acts. job_events.c handles what
 * hosts report, job_check.c checks the hosts, job_start.c starts the ranks, job_stop.c and
 * job_lost.c end the job. Fails when output files cannot be created; every later failure becomes
 * the job's verdict. */
#include "launcher/job/job_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

uint64_t job_now_ms(void)
{
    return uv_hrtime() / 1000000;
}

const char *job_host_name(const struct job *job, int host)
{
    return job->plan->hosts[host].host->name;
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

void job_note_rank(struct job *job, int rank, const char *what)
{
    char name[320];
    job_worker_name(job, rank, name, sizeof name);
    if (job->options->elastic)
        job_note(job, "%s %s", name, what);
    else
        job_note(job, "rank %d %s", rank, what);
}

void job_act(struct job *job, enum job_action action)
{
    switch (action) {
    case JOB_WAIT:
        break;
    case JOB_START:
        job_start_ranks(job);
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

static void on_credit(void *context, int rank, enum output_stream stream, uint32_t nbytes)
{
    struct job *job = context;
    struct job_host *host = job->hosts[job->plan->ranks[rank].host];
    if (host)
        job_host_credit(host, rank, stream, nbytes);
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
    const struct job_elastic *elastic = job->options->elastic;
    struct job_output_options options = {
        .nranks = elastic ? elastic->first_size : job->plan->size,
        .elastic = elastic,
        .size_max = !elastic                             ? 0
                    : elastic->size_max < WORLD_SIZE_MAX ? elastic->size_max
                                                         : elastic->first_size,
        .directory = job->options->output_directory,
        .timestamps = job->options->timestamps,
        .keep_lines = job->options->keep_lines,
        .stdout_closed = job->options->stdout_closed,
        .stderr_closed = job->options->stderr_closed,
    };
    return job_output_create(job->loop, &options, &events, job, err);
}

struct job *job_create(uv_loop_t *loop, const struct job_options *options,
                       const struct job_rendezvous_interface *rendezvous,
                       const struct job_callbacks *callbacks, void *context, struct err *err)
{
    struct job *job = xcalloc(1, sizeof *job);
    *job = (struct job){ .loop = loop,
                         .options = options,
                         .rendezvous = *rendezvous,
                         .callbacks = *callbacks,
                         .context = context,
                         .created_ms = job_now_ms() };
    job_processes_init(job); /* before any thread starts */
    job_start_init(job);
    job_suspension_init(job);
    job_stop_init(job);
    job_check_start(job);
    job_timeout_start(job);
    job_stacks_init(job);
    job->plan = options->elastic ? &job->growth.plan : options->plan;
    job_state_init(&job->state, job->plan->host_count, job->plan->size);
    job_elastic_init(job);
    job->hosts = xcalloc((size_t)job->plan->host_count, sizeof *job->hosts);
    job_report_init(&job->report, job->plan, options->id, options->epoch_ms, job->created_ms);
    job->report.elastic = options->elastic;
    job->stderr_readers = xcalloc((size_t)job->plan->size, sizeof *job->stderr_readers);
    job->output = create_output(job, err);
    if (!job->output) {
        job_destroy(job);
        return NULL;
    }
    job->pool = connect_queue_create(loop, options->connect, job->processes.children);
    job_tree_init(job);
    job_open_hosts(job);
    job_output_prepare(job->output); /* while agents start */
    return job;
}

char *job_last_lines(const struct job *job, int rank, bool of_stderr, size_t nbytes)
{
    return job_output_tail(job->output, rank, of_stderr ? STREAM_STDERR : STREAM_STDOUT, nbytes);
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
    connect_queue_destroy(job->pool);
    job_processes_fini(job);
    job_tree_fini(job);
    free(job->hosts);
    job_report_fini(&job->report);
    job_elastic_fini(job);
    free(job->stderr_readers);
    free(job);
}

static void on_job_handle_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

void job_close_handle(struct job *job, uv_handle_t *handle)
{
    job->open_parts++;
    uv_close(handle, on_job_handle_closed);
}

void job_on_host_closed(void *context)
{
    struct job_host *host = context;
    struct job *job = host->context;
    free((char *)host->interfaces);
    free(host);
    job->growth.nclosing--;
    if (job->destroyed)
        on_part_closed(job);
}

static void close_hosts(struct job *job)
{
    for (int i = job->state.nhosts - 1; i >= 0; i--) {
        struct job_host *host = job->hosts[i];
        job->hosts[i] = NULL;
        if (host)
            job_host_close(host, job_on_host_closed, host);
    }
}

void job_destroy(struct job *job)
{
    if (!job)
        return;
    for (int i = 0; i < job->state.nhosts; i++)
        job->growth.nclosing += job->hosts[i] != NULL;
    job->destroyed = true;
    job->open_parts = job->growth.nclosing;
    job_elastic_close(job);
    job_timeout_close(job);
    job_stacks_close(job);
    job_check_close(job);
    job_stop_close(job);
    job_suspension_close(job);
    job_start_close(job);
    stdin_reader_destroy(job->stdin_reader);
    job_output_destroy(job->output);
    close_hosts(job);
}
