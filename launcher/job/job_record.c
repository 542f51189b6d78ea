/* SPDX-License-Identifier: Apache-2.0 */
/* Filling in the report of a job: what agents and the rendezvous report of each rank, as it
 * arrives; hosts, last words and the verdict once it is final; see job_report.h. */
#include "launcher/job/job_impl.h"

#include "launcher/base/xalloc.h"
#include "lib/base/rank_end_text.h"

#include <stdio.h>

void job_record_started(struct job *job, int rank, pid_t pid)
{
    struct report_rank *record = &job->report.ranks[rank];
    record->pid = (int)pid;
    record->started_ms = job_now_ms();
    record->end = END_LEFT; /* until it ends */
}

void job_record_exited(struct job *job, const struct agent_exited *exited)
{
    struct report_rank *record = &job->report.ranks[exited->end.rank];
    record->end = exited->told ? END_TERMINATED : END_BY_ITSELF;
    record->how = exited->end.how;
    record->terminated = job->state.verdict.cause != CAUSE_NONE;
    record->after_ms = exited->after_ms;
    record->slack_us =
        job_host_time(job->hosts[record->host], exited->end.at_us, &record->ended_us);
    record->ended_ms = record->ended_us / 1000;
    if (record->started_ms > record->ended_ms) /* hvdrun was told of the start later */
        record->started_ms = record->ended_ms;
}

void job_record_wrote(struct job *job, int rank, uint64_t read_us, const char *data, size_t length)
{
    struct report_rank *record = &job->report.ranks[rank];
    uint64_t at_us;
    record->wrote_slack_us = job_host_time(job->hosts[record->host], read_us, &at_us);
    stderr_reader_feed(&job->stderr_readers[rank], data, length, at_us);
    record->wrote = job->stderr_readers[rank].failure;
}

void job_record_wrote_end(struct job *job, int rank)
{
    stderr_reader_end(&job->stderr_readers[rank]);
    job->report.ranks[rank].wrote = job->stderr_readers[rank].failure;
}

void job_record_lost(struct job *job, int rank)
{
    job->report.ranks[rank].end = END_LOST;
    job->report.ranks[rank].terminated = true;
}

static enum report_transport host_transport_of(const struct job_host *host)
{
    if (host->history.reached_ms == 0)
        return HOST_TRANSPORT_NONE;
    if (host->local)
        return HOST_TRANSPORT_LOCAL;
    if (host->below)
        return HOST_TRANSPORT_AGENT;
    if (host->srun)
        return HOST_TRANSPORT_SRUN;
    return host->agent > 0 ? HOST_TRANSPORT_COMMAND : HOST_TRANSPORT_SSH;
}

void job_rank_met(struct job *job, int rank)
{
    if (rank < job->report.nranks)
        job->report.ranks[rank].met = true;
}

void job_rank_left(struct job *job, int rank, const struct rank_end *end)
{
    struct report_rank *record = &job->report.ranks[rank];
    if (record->left_because)
        return;
    record->left_because = xcalloc(1, sizeof *record->left_because);
    *record->left_because = *end;
    record->left_ms = job_now_ms();
}

void job_world_failed(struct job *job, const struct rank_end *end)
{
    struct job_report *report = &job->report;
    if (job->options->elastic) { /* each world may fail */
        char text[400];
        rank_end_text(text, sizeof text, end);
        job_report_end_world(report, text, job_now_ms());
        return;
    }
    if (report->origin.status != HVD_OK)
        return;
    report->origin = *end;
    report->origin_us = job_now_ms() * 1000;
    report->origin_ran_on =
        job->state.verdict.cause == CAUSE_NONE && report->ranks[end->because_of].ended_us == 0;
}

void job_rank_disconnected(struct job *job, int rank)
{
    struct report_rank *record = &job->report.ranks[rank];
    record->disconnected =
        job->state.verdict.cause == CAUSE_NONE && record->ended_us == 0 && !record->left_because;
}

void job_record_verdict(struct job *job, const char *text)
{
    struct job_report *report = &job->report;
    const struct job_verdict *verdict = &job->state.verdict;
    bool is_of_host = verdict->cause == CAUSE_RANK || verdict->cause == CAUSE_LEFT ||
                      verdict->cause == CAUSE_HOST;
    bool lost = verdict->cause == CAUSE_NONE && verdict->exit_status != 0;
    report->exit_status = verdict->exit_status;
    report->cause = lost ? CAUSE_OUTPUT : verdict->cause;
    report->host = is_of_host ? verdict->host : -1;
    report->rank = is_of_host ? verdict->rank : -1;
    report->pid = report->rank >= 0 ? report->ranks[report->rank].pid : 0;
    report->ended_ms = job_now_ms();
    job_report_end_world(report, *text ? text : "all ranks have finished", report->ended_ms);
    snprintf(report->text, sizeof report->text, "%s", text);
}

void job_record_host(struct job *job, const struct job_host *host)
{
    struct report_host *record = &job->report.hosts[host->index];
    record->transport = host_transport_of(host);
    record->agent = (int)host->agent;
    record->history = host->history;
}

void job_record_said(struct job *job, int rank)
{
    struct report_rank *record = &job->report.ranks[rank];
    if (job->options->keep_lines && !record->said)
        record->said = job_output_last_lines(job->output, rank, &record->said_on_stdout);
}

void job_record_finish(struct job *job)
{
    struct job_report *report = &job->report;
    for (int i = 0; i < report->nhosts; i++)
        if (job->hosts[i])
            job_record_host(job, job->hosts[i]);
    for (int i = 0; i < report->nranks; i++)
        job_record_said(job, i);
}
