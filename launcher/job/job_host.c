/* SPDX-License-Identifier: Apache-2.0 */
/* The life of hvdrun's end of one agent: connect, describe the job, watch, stop, hang up; see
 * job_host.h. job_host_describe.c sends the description, job_host_orders.c what the ranks are to
 * do, job_host_frames.c handles the agent's frames, job_host_relay.c the connections that the agent
 * relays, and job_host_heartbeat.c the heartbeat timeout. */
#include "launcher/job/job_host_impl.h"

#include "launcher/base/exit_status.h"
#include "launcher/base/xalloc.h"
#include "launcher/tree/host_tree.h"
#include "lib/base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void job_host_send_empty(struct job_host *host, uint16_t type)
{
    frame_link_begin(&host->link, type);
    frame_link_send(&host->link);
}

static void on_bytes(void *context)
{
    struct job_host *host = context;
    uint64_t now_ms = uv_now(host->loop);
    job_host_note_gap(host, now_ms);
    heartbeat_timeout_heard(&host->heartbeat, now_ms);
    heartbeat_timeout_heard(&host->gap, now_ms);
    host->starved = false;
    link_history_heard(&host->history, job_host_worth_telling_ms(host), now_ms);
}

static void on_everything_closed(void *context)
{
    struct job_host *host = context;
    tunnels_fini(&host->tunnels);
    free(host->ranks);
    host->on_closed(host->closed_context);
}

static void on_link_closed(void *context)
{
    struct job_host *host = context;
    host->linked = false;
    if (host->on_closed)
        host_connect_close(host->connect, on_everything_closed, host);
}

/* Closes the link; the agent reads the end. The transport can still be asked why it ended. */
static void hang_up(struct job_host *host)
{
    tunnels_mute(&host->tunnels);
    if (host->linked && !host->link.closing)
        frame_link_close(&host->link, on_link_closed);
}

/* The local process, or the stream, has ended. */
static void agent_end(struct job_host *host)
{
    if (host->agent_ended)
        return;
    host->agent_ended = true;
    host->events->on_agent_end(host->context, host->index);
}

/* Stops handling frames of the host. */
static void enter_lost(struct job_host *host, int status)
{
    host->phase = HOST_LOST;
    host->lost_status = status;
    link_history_lost(&host->history, job_host_worth_telling_ms(host), uv_now(host->loop));
}

void job_host_lose(struct job_host *host, int status, const char *reason)
{
    enter_lost(host, status);
    snprintf(host->lost_reason, sizeof host->lost_reason, "%s", reason);
    text_make_line(host->lost_reason);
    host->events->on_lost(host->context, host->index);
}

static void on_job_host_link_end(void *context, const struct err *err)
{
    struct job_host *host = context;
    bool nonsense = err->code == HVD_ERR_PROTOCOL;
    int status = nonsense                     ? STATUS_PROTOCOL
                 : err->code == HVD_ERR_NOMEM ? STATUS_RESOURCE
                                              : STATUS_HOST_LOST;
    bool other_program = nonsense && host->phase == HOST_DESCRIBING && !host->local;
    char text[sizeof host->lost_reason];
    snprintf(text, sizeof text, "%.400s%s", err->code == HVD_OK ? "" : err->text,
             other_program ? "; is the hvdagent there of another version?" : "");
    if (host->phase < HOST_DONE)
        job_host_lose(host, status, text);
    if (host->agent == 0 || host->agent_ended)
        hang_up(host);
    host->awaits_cause |= host->srun && host->phase == HOST_LOST;
    if (host->agent == 0 && !host->awaits_cause)
        agent_end(host);
}

/* ---- connecting ---- */

static void on_job_host_step(void *context, enum host_step step)
{
    job_host_take_step(context, step);
}

static void on_job_host_note(void *context, bool important, const char *text)
{
    struct job_host *host = context;
    if (host->phase != HOST_CLOSED)
        host->events->on_note(host->context, host->index, important, text);
}

static void on_connected(void *context, const struct host_stream *stream)
{
    static const struct frame_link_events events = { job_host_on_frame, on_job_host_link_end, NULL,
                                                     on_bytes };
    struct job_host *host = context;
    struct err err = { 0 };
    host->agent = stream->pid;
    host->local = stream->local;
    host->below = stream->tunnel != NULL;
    host->srun = stream->srun;
    host->phase = HOST_DESCRIBING;
    heartbeat_timeout_start(&host->heartbeat, host->options->heartbeat_timeout_ms,
                            uv_now(host->loop));
    heartbeat_timeout_start(&host->gap, 0, uv_now(host->loop));
    link_history_reached(&host->history, uv_now(host->loop));
    job_host_take_step(host, STEP_DIRECTORY);
    host->linked = true;
    if (frame_link_open(&host->link, host->loop, stream->input, stream->output, &events, host,
                        &err) < 0) {
        on_job_host_link_end(host, &err);
        return;
    }
    host->tunnels.link = &host->link;
    job_host_describe(host, host->options, stream->tunnel);
    if (!host->suspended)
        return;
    job_host_signal(host, SIGSTOP, CAST_TO_HOST);
    job_host_send_heartbeat(host);
}

static void on_host_connect_failed(void *context, enum host_step step, int exit_status,
                                   const char *text)
{
    struct job_host *host = context;
    host->step = step; /* which on_job_host_step() has reported */
    host->phase = HOST_CLOSED;
    host->events->on_connect_failed(host->context, host->index, exit_status, text);
}

static void on_job_host_process_end(void *context, int wait_status)
{
    struct job_host *host = context;
    host->agent_status = wait_status;
    if (host->phase != HOST_CLOSED)
        agent_end(host);
}

static void on_job_host_fall_back(void *context, const char *text)
{
    struct job_host *host = context;
    host->events->on_fall_back(host->context, host->index, text);
}

void job_host_connect_through(struct job_host *host, struct job_host *above)
{
    host->like_parent = !above->local;
    if (host->phase == HOST_CONNECTING && !host->stopping)
        host_connect_through(host->connect, &above->tunnels);
}

void job_host_connect_directly(struct job_host *host)
{
    if (host->phase == HOST_CONNECTING && !host->stopping)
        host_connect_directly(host->connect);
}

void job_host_open(struct job_host *host, struct connect_queue *pool, uv_loop_t *loop,
                   const struct job_options *options, const struct rendezvous_server *rendezvous,
                   const struct job_host_events *events, void *context)
{
    static const struct connect_events connect_events = {
        on_job_host_step,       on_job_host_note,        on_connected,
        on_host_connect_failed, on_job_host_process_end, on_job_host_fall_back
    };
    struct connect_target target = { .host = host->where.host->name,
                                     .user = host->where.host->user,
                                     .below = host->parent != HOST_TREE_ROOT };
    host->loop = loop;
    host->options = options;
    host->rendezvous = rendezvous;
    host->events = events;
    host->context = context;
    host->phase = HOST_CONNECTING;
    host->step_since_ms = uv_hrtime() / 1000000;
    host->ranks = xcalloc((size_t)host->where.local_size, sizeof *host->ranks);
    for (int i = 0; i < host->where.local_size; i++)
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            host->ranks[i].window[stream] = STREAM_WINDOW;
    host->connect = host_connect_start(pool, &target, &connect_events, host);
}

void job_host_ask_stacks(struct job_host *host, uint32_t id)
{
    host->stacks_id = id;
    host->nstacks = 0;
    wire_put_u32(frame_link_begin(&host->link, AGENT_STACKS), id);
    frame_link_send(&host->link);
}

bool job_host_is_open(const struct job_host *host)
{
    return host->linked && !host->link.ended && host->phase != HOST_LOST;
}

bool job_host_is_watched(const struct job_host *host)
{
    return host->phase >= HOST_DESCRIBING && host->phase < HOST_DONE;
}

void job_host_exchange(struct job_host *host, uint32_t id, uint32_t ip, uint16_t port,
                       const void *request, size_t length)
{
    if (!job_host_is_open(host) || host->phase != HOST_RUNNING)
        return;
    struct wire_writer *body = frame_link_begin(&host->link, AGENT_EXCHANGE);
    wire_put_u32(body, id);
    wire_put_u32(body, ip);
    wire_put_u16(body, port);
    wire_put_bytes(body, request, length);
    frame_link_send(&host->link);
}

void job_host_send_heartbeat(struct job_host *host)
{
    if (!job_host_is_watched(host))
        return;
    uint64_t now_us = uv_hrtime() / 1000;
    if (host->unanswered++ == 0)
        host->unanswered_us = now_us;
    wire_put_u64(frame_link_begin(&host->link, AGENT_HEARTBEAT), now_us);
    frame_link_send(&host->link);
}

int job_host_waiting_rank(const struct job_host *host)
{
    for (int i = 0; i < host->where.local_size; i++)
        if (host->ranks[i].phase == RANK_WAITING)
            return host->where.ranks[i];
    return -1;
}

bool job_host_rank_is_stopped(const struct job_host *host, int rank)
{
    const struct host_rank *found = job_host_find_rank((struct job_host *)host, rank);
    return found && found->phase == RANK_RUNNING && found->stopped;
}

bool job_host_is_starting(const struct job_host *host)
{
    return host->phase == HOST_RUNNING && job_host_waiting_rank(host) >= 0;
}

void job_host_credit(struct job_host *host, int rank, enum output_stream stream, uint32_t nbytes)
{
    struct agent_rank_number credit = { rank, (uint8_t)stream, nbytes };
    if (!job_host_is_open(host))
        return;
    job_host_find_rank(host, rank)->window[stream] += nbytes;
    agent_rank_number_encode(frame_link_begin(&host->link, AGENT_CREDIT), &credit);
    frame_link_send(&host->link);
}

void job_host_stdin(struct job_host *host, const void *data, size_t length)
{
    if (host->phase != HOST_RUNNING)
        return;
    host->stdin_window -= (uint32_t)length;
    wire_put_bytes(frame_link_begin(&host->link, AGENT_STDIN), data, length);
    frame_link_send(&host->link);
}

bool job_host_cut(struct job_host *host)
{
    if (host->phase < HOST_DESCRIBING || host->phase >= HOST_DONE)
        return false;
    enter_lost(host, STATUS_HOST_LOST);
    hang_up(host);
    return true;
}

void job_host_end_agent(struct job_host *host)
{
    if (host->agent_ended)
        return;
    host->agent_killed = true;
    if (host->agent > 0) /* a command leads a session, and may be a script */
        kill(host->local ? host->agent : -host->agent, SIGKILL);
    else if (job_host_cut(host))
        snprintf(host->lost_reason, sizeof host->lost_reason, "its agent does not end");
    if (host->phase >= HOST_DONE)
        hang_up(host);
    if (host->agent == 0)
        agent_end(host);
}

uint64_t job_host_time(const struct job_host *host, uint64_t agent_us, uint64_t *at_us)
{
    return clock_offset_time(&host->clock, agent_us, uv_hrtime() / 1000, at_us);
}

bool job_host_has_read(const struct job_host *host, uint64_t until_us)
{
    return !job_host_is_watched(host) || host->echoed_us >= until_us;
}

void job_host_close(struct job_host *host, void (*on_closed)(void *context), void *context)
{
    host->on_closed = on_closed;
    host->closed_context = context;
    job_host_hang_up_relay(host);
    host->phase = HOST_CLOSED; /* events until the transport is closed are not reported */
    tunnels_cut(&host->tunnels, "");
    if (host->linked)
        hang_up(host);
    else if (host->connect)
        host_connect_close(host->connect, on_everything_closed, host);
    else
        on_everything_closed(host);
}
