/* SPDX-License-Identifier: Apache-2.0 */
/* Cleaning up another machine whose agent and supervisor were killed in the same instant: processes
 * that ranks had started may be left. hvdrun connects once more, and a second agent ends the
 * processes whose environment names this job and host (launcher/cleanup/cleanup.h).
 *
 *   connect -> JOB, SWEEP -> DONE, so many are left -> hang up -> the host is done
 *
 * In an elastic job other agents may run on that host, and the environment names the agent too.
 * Fails when the host cannot be reached or takes too long; then nothing is reported about processes
 * that may be left. A silent host is not tried: it would not answer now, and its agent ends
 * everything by itself. The same holds for a host that was cut off by the loss of the one above. */
#include "launcher/job/job_sweep.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "lib/base/env_names.h"

#include <signal.h>
#include <stdlib.h>

/* The limit for the whole sweep. */
enum { JOB_SWEEP_MS = 5000 };

struct job_sweep {
    struct job *job;
    struct job_host *host;
    struct host_connect *connect;
    struct frame_link link;
    bool linked;
    uv_timer_t end; /* the limit of the sweep, or its end in the next iteration */
    int left;
};

static void on_job_sweep_timer_closed(uv_handle_t *handle)
{
    struct job_sweep *sweep = handle->data;
    struct job *job = sweep->job;
    struct job_host *host = sweep->host;
    job_state_on_left(&job->state, sweep->left);
    free(sweep);
    job_host_over(job, host);
}

static void on_sweep_connect_closed(void *context)
{
    struct job_sweep *sweep = context;
    uv_close((uv_handle_t *)&sweep->end, on_job_sweep_timer_closed);
}

static void on_link_closed(void *context)
{
    struct job_sweep *sweep = context;
    host_connect_close(sweep->connect, on_sweep_connect_closed, sweep);
}

static void on_end(uv_timer_t *timer)
{
    struct job_sweep *sweep = timer->data;
    if (sweep->host->sweep_pid > 0)
        kill(-sweep->host->sweep_pid, SIGKILL);
    if (sweep->linked)
        frame_link_close(&sweep->link, on_link_closed);
    else
        on_link_closed(sweep);
}

/* Ends the sweep in a later iteration of the loop: the sweep must not close a connection from
 * inside its callback. */
static void job_sweep_end(struct job_sweep *sweep)
{
    if (!uv_is_closing((uv_handle_t *)&sweep->end) && !sweep->link.closing)
        uv_timer_start(&sweep->end, on_end, 0, 0);
}

static int on_job_sweep_frame(void *context, const struct frame *frame, struct err *err)
{
    struct job_sweep *sweep = context;
    struct wire_reader body;
    if (frame->type != AGENT_DONE && frame->type != AGENT_FAILED)
        return HVD_OK;
    wire_reader_init(&body, frame->body, frame->length);
    int left = frame->type == AGENT_DONE ? wire_get_i32(&body) : -1;
    (void)err;
    sweep->left = !body.failed && left > 0 ? left : 0;
    if (left >= 0 && !body.failed)
        job_note(sweep->job, "%s is swept, %d left", job_host_name(sweep->job, sweep->host->index),
                 left);
    else
        job_note(sweep->job, "%s is not swept", job_host_name(sweep->job, sweep->host->index));
    job_sweep_end(sweep);
    return HVD_OK;
}

static void on_job_sweep_link_end(void *context, const struct err *err)
{
    (void)err;
    job_sweep_end(context);
}

/* Sends the variables that every process of this job on that host has, and no other process. */
static void send_sweep(struct job_sweep *sweep)
{
    const struct job_options *options = sweep->job->options;
    struct agent_job job = { .version = AGENT_VERSION, .own_environment = true };
    char *id = xasprintf(ENV_JOB_ID "=%s", options->id);
    char *name = xasprintf(ENV_HOSTNAME "=%s", job_host_name(sweep->job, sweep->host->index));
    char *agent = options->elastic ? xasprintf(ENV_AGENT "=%d", sweep->host->index) : NULL;
    agent_job_encode(frame_link_begin(&sweep->link, AGENT_JOB), &job);
    frame_link_send(&sweep->link);
    struct wire_writer *body = frame_link_begin(&sweep->link, AGENT_SWEEP);
    wire_put_string(body, id);
    wire_put_string(body, name);
    if (agent)
        wire_put_string(body, agent);
    frame_link_send(&sweep->link);
    free(id);
    free(name);
    free(agent);
}

static void on_sweep_connected(void *context, const struct host_stream *stream)
{
    static const struct frame_link_events events = { on_job_sweep_frame, on_job_sweep_link_end,
                                                     NULL, NULL };
    struct job_sweep *sweep = context;
    struct err err = { 0 };
    sweep->host->sweep_pid = stream->pid;
    sweep->linked = true;
    if (frame_link_open(&sweep->link, sweep->job->loop, stream->input, stream->output, &events,
                        sweep, &err) < 0)
        job_sweep_end(sweep);
    else
        send_sweep(sweep);
}

static void on_job_sweep_step(void *context, enum host_step step)
{
    (void)context;
    (void)step;
}

static void on_job_sweep_note(void *context, bool important, const char *text)
{
    struct job_sweep *sweep = context;
    (void)important;
    job_note(sweep->job, "%s: %s", job_host_name(sweep->job, sweep->host->index), text);
}

static void on_job_sweep_failed(void *context, enum host_step step, int exit_status,
                                const char *text)
{
    struct job_sweep *sweep = context;
    (void)step;
    (void)exit_status;
    job_note(sweep->job, "%s is not swept: %s", job_host_name(sweep->job, sweep->host->index),
             text);
    job_sweep_end(sweep);
}

static void on_job_sweep_fall_back(void *context, const char *text)
{
    on_job_sweep_note(context, false, text);
}

static void on_job_sweep_process_end(void *context, int wait_status)
{
    struct job_sweep *sweep = context;
    (void)wait_status;
    sweep->host->sweep_pid = 0;
}

/* The host was heard a moment ago: two of five heartbeats may have been missed. */
static bool may_answer(const struct job *job, const struct job_host *host)
{
    uint64_t limit_ms = host->heartbeat.limit_ms;
    return limit_ms == 0 || uv_now(job->loop) - host->heartbeat.heard_ms < limit_ms / 5 * 2;
}

bool job_sweep_start(struct job *job, struct job_host *host)
{
    static const struct connect_events events = {
        on_job_sweep_step,   on_job_sweep_note,        on_sweep_connected,
        on_job_sweep_failed, on_job_sweep_process_end, on_job_sweep_fall_back
    };
    struct job_host *above = host->below ? job->hosts[host->parent] : NULL;
    struct connect_target target = { .host = host->where.host->name,
                                     .user = host->where.host->user,
                                     .below = above && above->tunnels.link };
    if (host->local || host->cut_off || job->start.started_ms == 0 || !may_answer(job, host))
        return false;
    struct job_sweep *sweep = xcalloc(1, sizeof *sweep);
    sweep->job = job;
    sweep->host = host;
    uv_must(uv_timer_init(job->loop, &sweep->end), "timers");
    sweep->end.data = sweep;
    uv_timer_start(&sweep->end, on_end, JOB_SWEEP_MS, 0);
    sweep->connect = host_connect_start(job->pool, &target, &events, sweep);
    if (target.below)
        host_connect_through(sweep->connect, &above->tunnels);
    return true;
}
