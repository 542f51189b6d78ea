/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the reports of a job's hosts: steps and notes become messages on stderr, output goes to
 * the console, the exits of ranks to job_state.c and to the report. job_act() carries out the
 * resulting action. job_lost.c handles the loss of hosts. */
#include "launcher/job/job_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "lib/base/rank_end_text.h"

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void on_job_events_step(void *context, int host, enum host_step step)
{
    struct job *job = context;
    job_note(job, "%s: %s", job_host_name(job, host), host_step_name(step));
}

static void on_job_events_note(void *context, int host, bool important, const char *text)
{
    struct job *job = context;
    if (important)
        job_output_say(job->output, "%s: %s", job_host_name(job, host), text);
    else
        job_note(job, "%s: %s", job_host_name(job, host), text);
}

/* No worker of the batch is started, for that reason. */
static void refuse_batch(struct job *job, int host, int exit_status, const char *text)
{
    if (job->report.hosts[host].status)
        return;
    job->report.hosts[host].status = exit_status;
    if (job->state.phase < JOB_STOPPING)
        job_output_say(job->output, "%s: %s", job_host_name(job, host), text);
}

/* The host has no agent, and will have none. Status 0: hvdrun has given the host up. */
static void on_connect_failed(void *context, int host, int exit_status, const char *text)
{
    struct job *job = context;
    char where[800];
    snprintf(where, sizeof where, "%s: %s", host_step_name(job->hosts[host]->step), text);
    if (exit_status != 0) {
        job_report_reason(&job->report, host, where);
        if (job->options->elastic)
            refuse_batch(job, host, exit_status, where);
        job_tell_failure(job, host, where);
        job_act(job, job_state_on_host_failed(&job->state, host, -1, exit_status, where));
    }
    job_host_over(job, job->hosts[host]);
}

static void on_job_events_ready(void *context, int host)
{
    struct job *job = context;
    job_note(job, "host %s: rendezvous and status page at http://127.0.0.1:%u/",
             job_host_name(job, host), job->hosts[host]->facts.relay_port);
    job_tree_on_ready(job, job->hosts[host]);
    job_act(job, job_state_on_host_ready(&job->state));
}

/* The agent starts no further ranks: those of the batch that run are ended. */
static void give_batch_up(struct job *job, int host, const struct agent_failed *failed)
{
    char text[600];
    snprintf(text, sizeof text, "%s: %s", host_step_name((enum host_step)failed->step),
             failed->text);
    if (failed->rank >= 0)
        job_lose_worker(job, failed->rank, failed->exit_status, text);
    else
        refuse_batch(job, host, failed->exit_status, failed->text);
    job_host_stop(job->hosts[host], SIGTERM, job->options->grace_ms, CAST_TO_HOST);
}

static void on_job_events_failed(void *context, int host, const struct agent_failed *failed)
{
    struct job *job = context;
    if (failed->rank == -1)
        job_report_reason(&job->report, host, failed->text);
    job_tell_failure(job, host, failed->text);
    if (failed->rank == -1 && failed->exit_status == STATUS_HOST_LOST)
        job_act(job, job_state_on_host_lost(&job->state, host, failed->exit_status, failed->text,
                                            job_host_was_away(job, job->hosts[host])));
    else
        job_act(job, job_state_on_host_failed(&job->state, host, failed->rank, failed->exit_status,
                                              failed->text));
    if (job->options->elastic)
        give_batch_up(job, host, failed);
}

static void on_bound(void *context, int rank, const char *text)
{
    struct job *job = context;
    char name[320];
    job_worker_name(job, rank, name, sizeof name);
    job_output_say(job->output, "%s: %s", name, text);
}

static void on_job_events_output(void *context, int rank, enum output_stream stream,
                                 uint64_t read_us, const char *data, size_t length)
{
    struct job *job = context;
    if (stream == STREAM_STDERR && !job->options->elastic)
        job_record_wrote(job, rank, read_us, data, length);
    job_output_take(job->output, rank, stream, data, length);
}

static void on_output_end(void *context, int rank, enum output_stream stream)
{
    struct job *job = context;
    if (stream == STREAM_STDERR && !job->options->elastic)
        job_record_wrote_end(job, rank);
    job_output_end(job->output, rank, stream);
}

static void on_stdin_read(void *context, const char *data, size_t length)
{
    struct job *job = context;
    int errnum = length == 0 ? stdin_reader_errnum(job->stdin_reader) : 0;
    if (errnum != 0)
        job_output_say(job->output, "stdin cannot be read, and rank 0 finds its end there: %s",
                       uv_strerror(uv_translate_sys_error(errnum)));
    if (job->hosts[0])
        job_host_stdin(job->hosts[0], data, length);
}

/* Without a thread that could read stdin the job goes on, and rank 0 reads the end. */
static void job_open_stdin(struct job *job)
{
    struct err err;
    job->stdin_reader = stdin_reader_create(job->loop, STDIN_FILENO, on_stdin_read, job, &err);
    job->stdin_unread = !job->stdin_reader;
    if (job->stdin_unread)
        job_output_say(job->output, "stdin is not read, and rank 0 finds it empty: %s", err.text);
}

static void on_stdin_credit(void *context, uint32_t nbytes)
{
    struct job *job = context;
    if (!job->options->stdin_closed && !job->stdin_reader && !job->stdin_unread)
        job_open_stdin(job);
    if (job->stdin_reader)
        stdin_reader_want(job->stdin_reader, nbytes);
    else
        job_host_stdin(job->hosts[0], NULL, 0);
}

static void on_exited(void *context, const struct agent_exited *exited)
{
    struct job *job = context;
    int rank = exited->end.rank, host = job->plan->ranks[rank].host;
    bool clean = rank_end_is_clean_exit(&exited->end.how);
    struct job_rank_end end = { exited->end.how, exited->told };
    char how[96];
    rank_end_how_text(how, sizeof how, &end.how, RANK_END_SHORT);
    job_note_rank(job, rank, how);
    job_record_exited(job, exited);
    job_act(job, job_state_on_rank_exited(&job->state, host, rank, &end.how, exited->after_ms));
    job->rendezvous.on_rank_ended(job->rendezvous.context, rank, &end);
    job_worker_ended(job, rank, clean ? JOB_WORKER_FINISHED : JOB_WORKER_FAILED);
}

/* A worker that is stopped keeps the others waiting: under --stopped fail it is lost. */
static void stop_stopped_worker(struct job *job, int worker, const struct rank_end_how *how)
{
    char text[96], name[320];
    rank_end_how_text(text, sizeof text, how, RANK_END_PASSIVE);
    job_worker_name(job, worker, name, sizeof name);
    job_output_say(job->output, "%s %s", name, text);
    if (!job->options->stopped_fails)
        return;
    job_lose_worker(job, worker, rank_end_exit_status(how), text);
    job_host_stop_rank(job->hosts[job->plan->ranks[worker].host], worker, SIGKILL, 0);
}

static void on_exchanged(void *context, uint32_t id, int error, const void *answer, size_t length)
{
    struct job *job = context;
    if (job->callbacks.on_exchanged)
        job->callbacks.on_exchanged(job->context, id, error, answer, length);
}

static void on_stopped(void *context, int rank, const struct rank_end_how *how)
{
    struct job *job = context;
    int host = job->plan->ranks[rank].host;
    const struct report_rank *record = &job->report.ranks[rank];
    char text[96];
    rank_end_how_text(text, sizeof text, how, RANK_END_PASSIVE);
    if (job->options->elastic) {
        stop_stopped_worker(job, rank, how);
        return;
    }
    job_output_say(job->output, "rank %d on %s (pid %d) %s", rank, job_host_name(job, host),
                   record->pid, text);
    if (job->options->stopped_fails)
        job_act(job, job_state_on_rank_stopped(&job->state, host, rank, how,
                                               job_now_ms() - record->started_ms));
}

void job_open_host(struct job *job, int index, const char *interfaces)
{
    struct job_host *host = xcalloc(1, sizeof *host);
    static const struct job_host_events events = {
        .on_step = on_job_events_step,
        .on_note = on_job_events_note,
        .on_connect_failed = on_connect_failed,
        .on_fall_back = job_tree_on_fall_back,
        .on_ready = on_job_events_ready,
        .on_failed = on_job_events_failed,
        .on_alive = job_on_alive,
        .on_bound = on_bound,
        .on_started = job_on_rank_started,
        .on_output = on_job_events_output,
        .on_output_end = on_output_end,
        .on_stdin_credit = on_stdin_credit,
        .on_exited = on_exited,
        .on_exchanged = on_exchanged,
        .on_stopped = on_stopped,
        .on_stack = job_on_stack,
        .on_stacks_done = job_on_stacks_done,
        .on_drain = job_on_drain,
        .on_done = job_on_host_done,
        .on_lost = job_on_host_lost,
        .on_agent_end = job_on_agent_end,
    };
    job->hosts[index] = host;
    host->index = index;
    host->parent = job_tree_parent(job, index);
    host->plan = job->plan;
    host->where = job->plan->hosts[index];
    host->interfaces = xstrdup(interfaces); /* freed in job_on_host_closed() */
    job_host_open(host, job->pool, job->loop, job->options, &job->rendezvous.server, &events, job);
}

void job_open_hosts(struct job *job)
{
    for (int i = 0; i < job->state.nhosts; i++)
        job_open_host(job, i, job->options->interfaces[i]);
}
