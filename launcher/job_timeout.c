/* SPDX-License-Identifier: Apache-2.0 */
/* The time that a whole job may take, --timeout: then its ranks are stopped as by SIGTERM, and the
 * verdict says which of them still ran, or why none did. Of a job that is being stopped already it
 * only ends the wait for a reader that does not read, as a signal does; and of one whose ranks have
 * ended it drops the output that is not written. */
#include "launcher/job_impl.h"

#include "launcher/exit_status.h"

#include <stdio.h>

static void timeout_text(const struct job *job, char *text, size_t size)
{
    char standing[440] = "before all output was written";
    if (job->state.phase != JOB_FINISHED)
        job_standing_text(job, standing, sizeof standing);
    snprintf(text, size, "%.10g s have passed (--timeout) %s",
             (double)job->options->timeout_ms / 1000, standing);
}

static void on_timeout(uv_timer_t *timer)
{
    struct job *job = timer->data;
    char text[512];
    if (job->said || job->state.phase == JOB_FINISHED)
        job_stop_discard(job);
    if (job->said)
        return;
    timeout_text(job, text, sizeof text);
    job_act(job, job_state_on_timeout(&job->state, STATUS_JOB_TIMEOUT, text));
}

void job_timeout_start(struct job *job)
{
    if (job->options->timeout_ms > 0)
        uv_timer_start(&job->timeout_timer, on_timeout, job->options->timeout_ms, 0);
}
