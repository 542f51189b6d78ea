/* SPDX-License-Identifier: Apache-2.0 */
/* The start of a job, as long as it takes: every host becomes ready, every rank runs.
 * When that takes longer than --start-timeout the job fails and says who is missing. Only time in
 * which this process ran counts: not that of Ctrl-Z. When several hosts fail, the first is the
 * verdict, and the others are told before it. */
#include "launcher/job_impl.h"

#include "launcher/exit_status.h"

#include <stdio.h>

/* How many hosts are told that fail besides the first. */
enum { FAILURES_TOLD = 20 };

static void fail_start(struct job *job)
{
    char text[480], hosts[400];
    job_missing_hosts(job, hosts, sizeof hosts);
    snprintf(text, sizeof text, "not ready in time (--start-timeout): %s", hosts);
    job_fail(job, STATUS_TIMEOUT, text);
}

void job_look_at_start(struct job *job)
{
    const struct job_state *state = &job->state;
    if (job->ran_ms >= job->options->start_timeout_ms &&
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
