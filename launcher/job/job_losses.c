/* SPDX-License-Identifier: Apache-2.0 */
/* The workers that an elastic job has lost. A worker is lost when it has failed, was never started,
 * went with its host, or did not join in time, and was neither removed before nor ended with the
 * whole job. Each loss is printed when it happens, unless its host's loss was, and again at the
 * end, with time and cause. */
#include "launcher/job/job_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "lib/base/rank_end_text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* The most losses that are named at the end; the report has all of them. */
enum { LOSSES_TOLD = 20 };

/* What a failed worker leaves behind has this long after SIGTERM. */
enum { REST_GRACE_MS = 500 };

static bool is_member(const struct job *job, int worker)
{
    for (int rank = 0; rank < job_world_size(job); rank++)
        if (job_world_worker(job, rank) == worker)
            return true;
    return false;
}

/* Keeps the cause of the loss. False if the worker is not lost, or was lost before. */
static bool record_loss(struct job *job, int worker, int exit_status, const char *why)
{
    struct report_rank *record = &job->report.ranks[worker];
    char name[320], text[1000];
    if (record->removed || record->loss || job->state.phase >= JOB_STOPPING)
        return false;
    record->loss = xstrdup(why);
    record->loss_status = exit_status;
    record->loss_ms = job_now_ms();
    job_worker_name(job, worker, name, sizeof name);
    snprintf(text, sizeof text, "%s: %s", name, why);
    if (is_member(job, worker))
        job_report_lost_member(&job->report, text, job_now_ms());
    return true;
}

void job_lose_worker(struct job *job, int worker, int exit_status, const char *why)
{
    const struct report_rank *record = &job->report.ranks[worker];
    char process[32] = "not started"; /* its host may still be connected to */
    char before[WORKER_BEFORE_SIZE];
    if (record->pid > 0)
        snprintf(process, sizeof process, "pid %d", record->pid);
    if (record_loss(job, worker, exit_status, why))
        job_output_say(job->output, "lost rank %d on %s (worker %d%s, %s): %s", record->rank,
                       job_worker_host(job, worker), worker, job_worker_before(job, worker, before),
                       process, why);
}

void job_give_up_worker(struct job *job, int worker, const char *why)
{
    job_lose_worker(job, worker, STATUS_TIMEOUT, why);
}

/* A process that has exited or was killed. */
static void lose_failed(struct job *job, int worker)
{
    const struct report_rank *record = &job->report.ranks[worker];
    const char *reason = job->report.hosts[record->host].reason;
    char how[96], text[900];
    rank_end_how_text(how, sizeof how, &record->how, RANK_END_SHORT);
    snprintf(text, sizeof text, "%s after %.1f s%s%s", how, (double)record->after_ms / 1000,
             *reason ? ": " : "", reason);
    int status = rank_end_exit_status(&record->how);
    job_lose_worker(job, worker, status > 0 ? status : STATUS_HOST_LOST, text);
    job_host_stop_rank(job->hosts[record->host], worker, SIGTERM, REST_GRACE_MS);
}

/* Returns how it has ended. */
static enum job_worker_end record_end(struct job *job, int worker, enum job_worker_end end)
{
    struct report_rank *record = &job->report.ranks[worker];
    const struct report_host *host = &job->report.hosts[record->host];
    record->over = true;
    /* A worker that ends because its agent is being ended has not finished. */
    if (end == JOB_WORKER_FINISHED && record->end == END_TERMINATED && !record->removed)
        end = JOB_WORKER_FAILED;
    if (end == JOB_WORKER_FAILED)
        lose_failed(job, worker);
    else if (end != JOB_WORKER_FINISHED)
        record_loss(job, worker, host->status ? host->status : STATUS_HOST_LOST,
                    *host->reason ? host->reason : "it was not started");
    return end;
}

static void tell_owner(struct job *job, int worker, enum job_worker_end end)
{
    if (job->state.phase < JOB_STOPPING)
        job->callbacks.on_worker_ended(job->context, worker, end);
}

void job_worker_ended(struct job *job, int worker, enum job_worker_end end)
{
    if (job->options->elastic && !job->report.ranks[worker].over)
        tell_owner(job, worker, record_end(job, worker, end));
}

/* Records all ends first: at the first one, the owner may remove the others. */
void job_workers_ended(struct job *job, const struct job_host *host, enum job_worker_end end)
{
    int count = 0;
    int *ended = xcalloc((size_t)host->where.local_size, sizeof *ended);
    for (int i = 0; i < host->where.local_size; i++) {
        int worker = host->where.ranks[i];
        if (job->report.ranks[worker].over)
            continue;
        record_end(job, worker, end);
        ended[count++] = worker;
    }
    for (int i = 0; i < count; i++)
        tell_owner(job, ended[i], end);
    free(ended);
}

static void say_loss(struct job *job, int worker)
{
    const struct report_rank *record = &job->report.ranks[worker];
    job_output_say(job->output, "  at %.1f s rank %d on %s (worker %d): %s",
                   (double)(record->loss_ms - job->created_ms) / 1000, record->rank,
                   job_worker_host(job, worker), worker, record->loss);
}

/* A worker that was lost, and when. */
struct loss {
    uint64_t at_ms;
    int worker;
};

static int loss_compare(const void *left, const void *right)
{
    const struct loss *a = left, *b = right;
    if (a->at_ms != b->at_ms)
        return a->at_ms < b->at_ms ? -1 : 1;
    return a->worker - b->worker;
}

void job_say_losses(struct job *job)
{
    int nlost = 0, nworlds = job->report.nworlds;
    struct loss *losses = xcalloc((size_t)job->report.nranks + 1, sizeof *losses);
    for (int i = 0; i < job->report.nranks; i++)
        if (job->report.ranks[i].loss)
            losses[nlost++] = (struct loss){ job->report.ranks[i].loss_ms, i };
    qsort(losses, (size_t)nlost, sizeof *losses, loss_compare);
    if (nlost > 0 && nworlds == 0)
        job_output_say(job->output, "%d of %d workers were lost before the first world:", nlost,
                       job->report.nranks);
    else if (nlost > 0)
        job_output_say(job->output, "%d of %d workers were lost, in %d world%s:", nlost,
                       job->report.nranks, nworlds, nworlds == 1 ? "" : "s");
    for (int i = 0; i < nlost && i < LOSSES_TOLD; i++)
        say_loss(job, losses[i].worker);
    if (nlost > LOSSES_TOLD)
        job_output_say(job->output, "  and %d more, which --report names", nlost - LOSSES_TOLD);
    free(losses);
}
