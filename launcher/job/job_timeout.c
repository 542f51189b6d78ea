/* SPDX-License-Identifier: Apache-2.0 */
/* The time limit of a whole job, --timeout. At the limit hvdrun tells where the ranks stand, under
 * --stack-traces (job_stacks.c), and asks those that have joined for their status text. When all
 * have answered, or no more answers come, it stops the ranks as by SIGTERM, and the verdict names
 * the ranks that still ran, or why none did. If the job is being stopped already, the limit only
 * ends the wait for a reader that does not read, as a signal does. If the ranks have ended, the
 * limit drops the unwritten output. */
#include "launcher/job/job_impl.h"

#include "launcher/base/exit_status.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

/* How long to wait for answers: a little longer than the rendezvous, which collects them. */
enum { ANSWERS_MS = 2500 };

static void timeout_text(const struct job *job, char *text, size_t size)
{
    char progress[720] = "before all output was written";
    if (job->state.phase != JOB_FINISHED)
        job_progress_text(job, progress, sizeof progress);
    snprintf(text, size, "%.10g s have passed (--timeout) %s",
             (double)job->options->timeout_ms / 1000, progress);
}

static void job_timeout_give_up(uv_timer_t *timer)
{
    struct job *job = timer->data;
    char text[800];
    job->timeout.asking = false;
    if (job->stop.said || job->state.phase == JOB_FINISHED)
        job_stop_discard(job);
    if (job->stop.said)
        return;
    timeout_text(job, text, sizeof text);
    job_act(job, job_state_on_timeout(&job->state, STATUS_JOB_TIMEOUT, text));
}

static bool has_met(const struct job *job)
{
    for (int i = 0; i < job->state.nranks; i++)
        if (job->report.ranks[i].met)
            return true;
    return false;
}

static void on_timeout(uv_timer_t *timer)
{
    struct job *job = timer->data;
    if (job->state.phase == JOB_RUNNING && job->options->attributes.stack_traces)
        job_stacks_before_timeout(job);
    else
        job_timeout_passed(job);
}

void job_timeout_passed(struct job *job)
{
    if (job->state.phase != JOB_RUNNING || !has_met(job)) {
        job_timeout_give_up(&job->timeout.timer);
        return;
    }
    job->timeout.asking = true;
    uv_timer_start(&job->timeout.timer, job_timeout_give_up, ANSWERS_MS, 0);
    job->rendezvous.on_question(job->rendezvous.context);
}

/* Quotes the first rank that waits, or rank 0 if the others wait for it: rank 0 knows what is
 * missing. */
bool job_rank_told(struct job *job, int rank, enum rank_waits_for waits_for, const char *text)
{
    struct job_timeout *timeout = &job->timeout;
    struct report_rank *record = &job->report.ranks[rank];
    if (!timeout->asking)
        return false;
    record->waits = waits_for == WAITS_FOR_RANKS;
    int place = job_worker_rank(job, rank);
    if ((!*timeout->quoted && record->waits) || (place == 0 && waits_for == WAITS_FOR_ITSELF)) {
        timeout->quoted_rank = place;
        snprintf(timeout->quoted, sizeof timeout->quoted, "%.*s", (int)strcspn(text, "\n"), text);
        text_make_line(timeout->quoted); /* the text may be cut inside a character */
    }
    if (place == job_world_size(job) - 1)
        uv_timer_start(&timeout->timer, job_timeout_give_up, 0, 0);
    return true;
}

void job_timeout_start(struct job *job)
{
    uv_timer_init(job->loop, &job->timeout.timer);
    job->timeout.timer.data = job;
    if (job->options->timeout_ms > 0)
        uv_timer_start(&job->timeout.timer, on_timeout, job->options->timeout_ms, 0);
}

void job_timeout_close(struct job *job)
{
    job_close_handle(job, (uv_handle_t *)&job->timeout.timer);
}
