/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a job, as long as it takes: every host becomes ready, every rank runs.
 * When that takes longer than --start-timeout the job fails and says who is missing. Only time in
 * which this process ran counts: not that of Ctrl-Z. When several hosts fail, the first is the
 * verdict, and the others are told before it. */
#include "launcher/job_impl.h"

#include "launcher/exit_status.h"

#include <stdio.h>
#include <string.h>

/* What " and N more" takes; how many hosts are told that fail besides the first. */
enum { MORE_ROOM = 24, FAILURES_TOLD = 20 };

static bool is_missing(const struct job_host *host)
{
    return host->phase == HOST_REACHING || host->phase == HOST_DESCRIBING ||
           job_host_is_starting(host);
}

static void missing_text(const struct job *job, const struct job_host *host, char *text,
                         size_t size)
{
    const char *name = job_host_name(job, host->index);
    if (job_host_is_starting(host))
        snprintf(text, size, "%s has not started rank %d", name, job_host_waiting_rank(host));
    else
        snprintf(text, size, "%s at step '%s' for %.1f s", name, host_step_name(host->step),
                 (double)(job_now_ms() - host->step_since_ms) / 1000);
}

/* Names as many as fit. */
static void fail_start(struct job *job)
{
    char text[480] = "not ready in time (--start-timeout):", one[320];
    size_t used = strlen(text);
    int missing = 0, named = 0;
    for (int i = 0; i < job->state.nhosts; i++) {
        if (!is_missing(&job->hosts[i]))
            continue;
        missing_text(job, &job->hosts[i], one, sizeof one);
        if (missing++ == named && used + strlen(one) + MORE_ROOM < sizeof text)
            used +=
                (size_t)snprintf(text + used, sizeof text - used, "%s %s", named++ ? "," : "", one);
    }
    if (missing > named)
        snprintf(text + used, sizeof text - used, " and %d more", missing - named);
    job_fail(job, STATUS_TIMEOUT, text);
}

void job_look_at_start(struct job *job)
{
    const struct job_state *state = &job->state;
    uint64_t now_ms = uv_now(job->loop), passed_ms = now_ms - job->looked_ms;
    bool late = passed_ms > SILENCE_LOOK_MS + SILENCE_LATE_MS;
    job->looked_ms = now_ms;
    job->starting_ms += late ? SILENCE_LOOK_MS : passed_ms;
    if (job->starting_ms >= job->options->start_timeout_ms &&
        (state->phase == JOB_PREPARING ||
         (state->phase == JOB_RUNNING && job->nstarted < state->nranks)))
        fail_start(job);
}

void job_tell_failure(struct job *job, int host, const char *text)
{
    const struct job_state *state = &job->state;
    if (job->started_ms > 0 || state->cause != CAUSE_HOST || state->cause_host == host)
        return;
    if (job->nfailures < FAILURES_TOLD)
        job_output_say(job->output, "%s: %s", job_host_name(job, host), text);
    else if (job->nfailures == FAILURES_TOLD)
        job_say(job, "more hosts have failed, which are not shown");
    job->nfailures++;
}
