/* SPDX-License-Identifier: Apache-2.0 */
/* Heartbeats between hvdrun and the agent. The agent echoes a heartbeat as soon as it has read it,
 * behind at most AGENT_LINK_QUEUE_MAX bytes of output that wait in this process. When nothing comes
 * from hvdrun for JOB's heartbeat timeout, the agent ends as if the link had ended, since a cut
 * cable looks like this. The timeout does not run between SIGNAL SIGSTOP, which announces that
 * hvdrun stops too, and SIGNAL SIGCONT or STOP: meanwhile only the end of the link counts. Other
 * signals are passed on to the ranks and do not suspend the timeout, because hvdrun may pass one on
 * and stop itself right after it. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/shown_seconds.h"
#include "lib/base/clock.h"

#include <stdio.h>

static void on_watch_timer(uv_timer_t *timer)
{
    struct agent *agent = timer->data;
    char text[128];
    if (!heartbeat_timeout_check(&agent->watch.heartbeat, monotonic_ms()))
        return;
    uv_timer_stop(timer);
    snprintf(text, sizeof text,
             "host lost: nothing came from hvdrun for %g s (--heartbeat-timeout)",
             shown_seconds(agent->watch.heartbeat.limit_ms));
    agent_give_up(agent, text);
}

void agent_watch_init(struct agent *agent)
{
    uv_timer_init(agent->loop, &agent->watch.timer);
    agent->watch.timer.data = agent;
}

void agent_watch_close(struct agent *agent)
{
    uv_close((uv_handle_t *)&agent->watch.timer, NULL);
}

void agent_watch_start(struct agent *agent)
{
    heartbeat_timeout_start(&agent->watch.heartbeat, agent->setup.job.heartbeat_timeout_ms,
                            monotonic_ms());
    if (agent->setup.job.heartbeat_timeout_ms > 0)
        uv_timer_start(&agent->watch.timer, on_watch_timer, HEARTBEAT_CHECK_MS, HEARTBEAT_CHECK_MS);
}

void agent_watch_heard(void *context)
{
    struct agent *agent = context;
    heartbeat_timeout_heard(&agent->watch.heartbeat, monotonic_ms());
}

void agent_watch_told(struct agent *agent, int signum)
{
    if (signum == SIGSTOP)
        heartbeat_timeout_pause(&agent->watch.heartbeat);
    else if (signum == SIGCONT)
        heartbeat_timeout_resume(&agent->watch.heartbeat, monotonic_ms());
}

/* No echo is sent to an hvdrun that sends heartbeats but does not read. */
int agent_on_heartbeat(struct agent *agent, struct wire_reader *body, struct err *err)
{
    struct agent_heartbeat echo = { wire_get_u64(body), uv_hrtime() / 1000 };
    int rc = agent_frame_finished(body, AGENT_HEARTBEAT, err);
    if (rc < 0 || frame_link_queued(&agent->link) > AGENT_ECHO_QUEUE_MAX)
        return rc;
    agent_heartbeat_encode(frame_link_begin(&agent->link, AGENT_HEARTBEAT), &echo);
    frame_link_send(&agent->link);
    return HVD_OK;
}
