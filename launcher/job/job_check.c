/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of a job every HEARTBEAT_CHECK_MS: hosts from which nothing comes, and every limit
 * that counts time in which this process ran. Asks hosts for heartbeats. */
#include "launcher/job/job_impl.h"

#include "launcher/base/ran_time.h"

/* How many heartbeats may be missed. */
enum { HEARTBEATS_MISSED = 5 };

/* Asks hosts for a heartbeat so often that several may be missed. */
static void on_job_check(uv_timer_t *timer)
{
    struct job *job = timer->data;
    job->check.ran_ms +=
        ran_time_check(&job->check.checked_ms, HEARTBEAT_CHECK_MS, uv_now(job->loop));
    uint32_t between_ms = job->options->heartbeat_timeout_ms / HEARTBEATS_MISSED;
    bool is_due = (uint32_t)++job->check.nchecks * HEARTBEAT_CHECK_MS >= between_ms;
    for (int i = 0; i < job->state.nhosts; i++) {
        if (!job->hosts[i])
            continue;
        job_host_heartbeat_check(job->hosts[i], job_tree_hides(job, job->hosts[i]));
        if (is_due)
            job_host_send_heartbeat(job->hosts[i]);
    }
    if (is_due)
        job->check.nchecks = 0;
    job_ends_check(job);
    job_stop_check(job);
    job_start_check(job);
    job_elastic_check(job);
    job_suspension_check(job);
}

uint64_t job_ran_ms(const struct job *job)
{
    uint64_t now_ms = uv_now(job->loop);
    return job->check.ran_ms + ran_time_since(job->check.checked_ms, HEARTBEAT_CHECK_MS, now_ms);
}

void job_check_start(struct job *job)
{
    uv_timer_init(job->loop, &job->check.timer);
    job->check.timer.data = job;
    job->check.checked_ms = uv_now(job->loop);
    uv_timer_start(&job->check.timer, on_job_check, HEARTBEAT_CHECK_MS, HEARTBEAT_CHECK_MS);
}

void job_check_close(struct job *job)
{
    job_close_handle(job, (uv_handle_t *)&job->check.timer);
}
