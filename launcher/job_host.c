/* SPDX-License-Identifier: Apache-2.0 */
/* Talking to one agent; see job_host.h. */
#include "launcher/job_host.h"

#include "launcher/exit_status.h"
#include "launcher/worker_environment.h"
#include "launcher/xalloc.h"
#include "lib/base/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Texts are gathered into frames of about this size; one text may be as long as execve() allows,
 * 128 KiB. */
enum { TEXTS_PER_FRAME = 16 * 1024, RELAY_PIECE = 256 * 1024 };

/* What may wait for an agent that does not read it, and 1 MiB more for each of its ranks. */
enum { QUEUE_MIB = 64 };

/* What an agent may say: the pids of Linux end there, and times far from where sums overflow. */
enum { PROCESSES_MAX = 1 << 22 };
#define CLOCK_MAX_MS ((uint64_t)1 << 62)

static void send_empty(struct job_host *host, uint16_t type)
{
    frame_link_begin(&host->link, type);
    frame_link_send(&host->link);
}

/* The agent has nothing to say before it is told to PREPARE, which may take long over a slow link: so
 * there is a heartbeat to echo behind each piece. */
static void send_texts(struct job_host *host, uint16_t type, char *const *texts)
{
    while (*texts) {
        struct wire_writer *body = frame_link_begin(&host->link, type);
        size_t begin = body->length;
        do
            wire_put_string(body, *texts++);
        while (*texts && body->length - begin + strlen(*texts) < TEXTS_PER_FRAME);
        frame_link_send(&host->link);
        job_host_beat(host);
    }
}

static void send_ranks(struct job_host *host, const struct job_options *options)
{
    const struct rank_plan *plan = options->plan;
    for (int i = 0; i < host->where->local_size; i++) {
        const struct place *place = &plan->ranks[host->where->first_rank + i].place;
        struct string_list own = { 0 };
        worker_environment_rank(&own, place, host->where->host->name, options->job_key);
        struct wire_writer *body = frame_link_begin(&host->link, AGENT_RANK);
        wire_put_i32(body, place->rank);
        for (size_t n = 0; n < own.count; n++)
            wire_put_string(body, own.items[n]);
        frame_link_send(&host->link);
        string_list_fini(&own);
    }
}

/* What --check-hosts looks for when nothing is to be started. */
static char *const any_command[] = { (char *)(uintptr_t) "/bin/sh", NULL };

static void describe(struct job_host *host, const struct job_options *options)
{
    struct agent_job job = { .version = AGENT_VERSION };
    struct sigaction hup;
    sigaction(SIGHUP, NULL, &hup);
    job.ignore_hup = hup.sa_handler == SIG_IGN;
    job.own_environment = !host->local;
    job.umask = options->umask;
    job.one_machine = host->where->local_size == options->plan->size;
    job.silence_ms = host->local ? 0 : options->silence_ms;
    snprintf(job.interfaces, sizeof job.interfaces, "%s", options->interfaces[host->index]);
    snprintf(job.cwd, sizeof job.cwd, "%s", options->cwd);
    agent_job_encode(frame_link_begin(&host->link, AGENT_JOB), &job);
    frame_link_send(&host->link);
    send_texts(host, AGENT_ARGUMENTS, options->command[0] ? options->command : any_command);
    send_texts(host, AGENT_ENVIRONMENT, options->environment);
    send_ranks(host, options);
    send_empty(host, AGENT_PREPARE);
}

/* A rank of this host, or NULL for one that is not. */
static struct host_rank *find_rank(struct job_host *host, int rank)
{
    int local = rank - host->where->first_rank;
    return rank < 0 || local < 0 || local >= host->where->local_size ? NULL : &host->ranks[local];
}

static int not_here(int rank, struct err *err)
{
    return fail(err, HVD_ERR_PROTOCOL, "the agent speaks of rank %d in a wrong way", rank);
}

static void take_step(struct job_host *host, enum host_step step)
{
    host->step = step;
    host->step_since_ms = uv_hrtime() / 1000000;
    host->events->on_step(host->context, host->index, step);
}

static int on_ready(struct job_host *host, struct wire_reader *body, struct err *err)
{
    int rc = agent_ready_decode(&host->facts, body, err);
    if (rc < 0)
        return rc;
    if (host->facts.clock_ms > CLOCK_MAX_MS)
        return fail(err, HVD_ERR_PROTOCOL, "READY with a clock that cannot be");
    text_make_line(host->facts.machine);
    host->phase = HOST_READY;
    take_step(host, STEP_READY);
    host->events->on_ready(host->context, host->index);
    return HVD_OK;
}

static int on_failed(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_failed failed;
    int rc = agent_failed_decode(&failed, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = find_rank(host, failed.rank);
    if (failed.rank != -1 && (!rank || rank->phase != RANK_WAITING))
        return not_here(failed.rank, err);
    if (rank)
        rank->phase = RANK_ENDED;
    text_make_line(failed.text);
    if (failed.rank == -1)
        take_step(host, (enum host_step)failed.step);
    host->events->on_failed(host->context, host->index, &failed);
    return HVD_OK;
}

static int on_started(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_rank_number started;
    int rc = agent_rank_number_decode(&started, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = find_rank(host, started.rank);
    if (!rank || rank->phase != RANK_WAITING)
        return not_here(started.rank, err);
    rank->phase = RANK_RUNNING;
    host->events->on_started(host->context, started.rank, (pid_t)started.number);
    return HVD_OK;
}

static int on_output(struct job_host *host, struct wire_reader *body, struct err *err)
{
    int number = wire_get_i32(body);
    uint8_t stream = wire_get_u8(body);
    size_t length = body->left;
    const char *data = wire_get_bytes(body, length);
    struct host_rank *rank = find_rank(host, number);
    if (body->failed || !rank || rank->phase == RANK_WAITING || stream >= OUTPUT_STREAMS ||
        rank->output_ended[stream] || length > rank->window[stream])
        return not_here(number, err);
    rank->window[stream] -= (uint32_t)length;
    host->events->on_output(host->context, number, (enum output_stream)stream, data, length);
    return HVD_OK;
}

static int on_output_end(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_rank_number end;
    int rc = agent_rank_number_decode(&end, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = find_rank(host, end.rank);
    if (!rank || rank->output_ended[end.stream])
        return not_here(end.rank, err);
    rank->output_ended[end.stream] = true;
    host->events->on_output_end(host->context, end.rank, (enum output_stream)end.stream);
    return HVD_OK;
}

static int on_stdin_credit(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint32_t nbytes = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_STDIN_CREDIT, err);
    if (rc < 0)
        return rc;
    if (host->where->first_rank != 0 || nbytes > STDIN_WINDOW - host->stdin_window)
        return fail(err, HVD_ERR_PROTOCOL, "the agent asks for stdin that is not its");
    host->stdin_window += nbytes;
    host->events->on_stdin_credit(host->context, nbytes);
    return HVD_OK;
}

static int on_exited(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_exited exited;
    int rc = agent_exited_decode(&exited, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = find_rank(host, exited.rank);
    if (!rank || rank->phase != RANK_RUNNING)
        return not_here(exited.rank, err);
    rank->phase = RANK_ENDED;
    host->events->on_exited(host->context, &exited);
    return HVD_OK;
}

static int on_relay_open(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_RELAY_OPEN, err);
    if (rc == HVD_OK)
        host->events->on_relay_open(host->context, host->index, id);
    return rc;
}

static int on_relay_data(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    size_t length = body->left;
    const void *data = wire_get_bytes(body, length);
    if (body->failed)
        return fail(err, HVD_ERR_PROTOCOL, "malformed RELAY_DATA frame");
    host->events->on_relay_data(host->context, host->index, id, data, length);
    return HVD_OK;
}

static int on_relay_end(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_RELAY_END, err);
    if (rc < 0)
        return rc;
    host->events->on_relay_end(host->context, host->index, id);
    job_host_relay_end(host, id); /* what was said in answer has gone before */
    return HVD_OK;
}

static int on_heartbeat(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint64_t stamp = wire_get_u64(body), now = uv_hrtime() / 1000;
    int rc = agent_frame_finished(body, AGENT_HEARTBEAT, err);
    if (rc < 0)
        return rc;
    host->round_trip_us = stamp <= now ? now - stamp : 0;
    host->echoed_us = stamp;
    if (host->events->on_alive)
        host->events->on_alive(host->context, host->index);
    return HVD_OK;
}

static int on_done(struct job_host *host, struct wire_reader *body, struct err *err)
{
    int left = wire_get_i32(body);
    int rc = agent_frame_finished(body, AGENT_DONE, err);
    if (rc < 0)
        return rc;
    if (left < 0 || left > PROCESSES_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "DONE with %d processes left", left);
    for (int i = 0; i < host->where->local_size; i++)
        if (host->ranks[i].phase == RANK_RUNNING
                ? left == 0
                : host->ranks[i].phase == RANK_WAITING && !host->stopping)
            return not_here(host->where->first_rank + i, err);
    host->phase = HOST_DONE;
    host->events->on_done(host->context, host->index, left);
    return HVD_OK;
}

typedef int (*frame_fn)(struct job_host *host, struct wire_reader *body, struct err *err);

/* Which frames may come when: in phases [first, last]. */
static const struct {
    frame_fn handle;
    enum host_phase first, last;
} handlers[AGENT_FRAME_TYPES] = {
    [AGENT_READY] = { on_ready, HOST_DESCRIBING, HOST_DESCRIBING },
    [AGENT_FAILED] = { on_failed, HOST_DESCRIBING, HOST_RUNNING },
    [AGENT_STARTED] = { on_started, HOST_RUNNING, HOST_RUNNING },
    [AGENT_OUTPUT] = { on_output, HOST_RUNNING, HOST_RUNNING },
    [AGENT_OUTPUT_END] = { on_output_end, HOST_RUNNING, HOST_RUNNING },
    [AGENT_STDIN_CREDIT] = { on_stdin_credit, HOST_RUNNING, HOST_RUNNING },
    [AGENT_EXITED] = { on_exited, HOST_RUNNING, HOST_RUNNING },
    [AGENT_RELAY_OPEN] = { on_relay_open, HOST_READY, HOST_DONE },
    [AGENT_RELAY_DATA] = { on_relay_data, HOST_READY, HOST_DONE },
    [AGENT_RELAY_END] = { on_relay_end, HOST_READY, HOST_DONE },
    [AGENT_HEARTBEAT] = { on_heartbeat, HOST_DESCRIBING, HOST_DONE },
    [AGENT_DONE] = { on_done, HOST_DESCRIBING, HOST_RUNNING },
};

static int on_frame(void *context, const struct frame *frame, struct err *err)
{
    struct job_host *host = context;
    if (frame->type >= AGENT_FRAME_TYPES || !handlers[frame->type].handle)
        return fail(err, HVD_ERR_PROTOCOL, "frame of unknown type %u", frame->type);
    if (host->phase < handlers[frame->type].first || host->phase > handlers[frame->type].last)
        return fail(err, HVD_ERR_PROTOCOL, "%s frame out of turn", agent_frame_name(frame->type));
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    return handlers[frame->type].handle(host, &body, err);
}

static void on_bytes(void *context)
{
    struct job_host *host = context;
    silence_heard(&host->silence, uv_now(host->loop));
}

static void on_everything_closed(void *context)
{
    struct job_host *host = context;
    free(host->ranks);
    host->on_closed(host->closed_context);
}

static void on_link_closed(void *context)
{
    struct job_host *host = context;
    host->linked = false;
    if (host->on_closed)
        reach_close(host->reach, on_everything_closed, host);
}

/* The other side reads the end. Why the way to it ended, if it did, can still be asked. */
static void hang_up(struct job_host *host)
{
    if (host->linked && !host->link.closing)
        frame_link_close(&host->link, on_link_closed);
}

/* What stood for the host has ended. */
static void agent_end(struct job_host *host)
{
    if (host->agent_ended)
        return;
    host->agent_ended = true;
    host->events->on_agent_end(host->context, host->index);
}

static void lose(struct job_host *host, int status, const char *reason)
{
    host->phase = HOST_LOST;
    host->lost_status = status;
    snprintf(host->lost_reason, sizeof host->lost_reason, "%s", reason);
    text_make_line(host->lost_reason);
    host->events->on_lost(host->context, host->index);
}

static void on_link_end(void *context, const struct err *err)
{
    struct job_host *host = context;
    bool nonsense = err->code == HVD_ERR_PROTOCOL;
    bool stray = nonsense && host->phase == HOST_DESCRIBING && !host->local;
    char text[sizeof host->lost_reason];
    snprintf(text, sizeof text, "%.400s%s", err->code == HVD_OK ? "" : err->text,
             stray ? "; is the hvdagent there of another version?" : "");
    if (host->phase < HOST_DONE)
        lose(host, nonsense ? STATUS_PROTOCOL : STATUS_HOST_LOST, text);
    if (host->agent == 0 || host->agent_ended)
        hang_up(host);
    if (host->agent == 0)
        agent_end(host);
}

/* ---- reaching it ---- */

static void on_step(void *context, enum host_step step)
{
    take_step(context, step);
}

static void on_note(void *context, bool important, const char *text)
{
    struct job_host *host = context;
    if (host->phase != HOST_CLOSED)
        host->events->on_note(host->context, host->index, important, text);
}

static void on_reached(void *context, const struct reached *reached)
{
    static const struct frame_link_events events = { on_frame, on_link_end, NULL, on_bytes };
    struct job_host *host = context;
    struct err err = { 0 };
    host->agent = reached->pid;
    host->local = reached->local;
    host->phase = HOST_DESCRIBING;
    silence_start(&host->silence, host->options->silence_ms, uv_now(host->loop));
    take_step(host, STEP_DIRECTORY);
    host->linked = true;
    if (frame_link_open(&host->link, host->loop, reached->input, reached->output, &events, host,
                        &err) < 0) {
        on_link_end(host, &err);
        return;
    }
    describe(host, host->options);
}

static void on_unreached(void *context, enum host_step step, int exit_status, const char *text)
{
    struct job_host *host = context;
    take_step(host, step);
    host->phase = HOST_CLOSED;
    host->events->on_unreached(host->context, host->index, exit_status, text);
}

static void on_process_end(void *context, int wait_status)
{
    struct job_host *host = context;
    host->agent_status = wait_status;
    if (host->phase != HOST_CLOSED)
        agent_end(host);
}

void job_host_open(struct job_host *host, struct reach_pool *pool, uv_loop_t *loop,
                   const struct job_options *options, const struct job_host_events *events,
                   void *context)
{
    static const struct reach_events reach_events = { on_step, on_note, on_reached, on_unreached,
                                                      on_process_end };
    struct reach_target target = { host->where->host->name, host->where->host->user };
    host->loop = loop;
    host->options = options;
    host->events = events;
    host->context = context;
    host->phase = HOST_REACHING;
    host->step_since_ms = uv_hrtime() / 1000000;
    host->ranks = xcalloc((size_t)host->where->local_size, sizeof *host->ranks);
    for (int i = 0; i < host->where->local_size; i++)
        for (int stream = 0; stream < OUTPUT_STREAMS; stream++)
            host->ranks[i].window[stream] = STREAM_WINDOW;
    host->reach = reach_start(pool, &target, &reach_events, host);
}

void job_host_start(struct job_host *host)
{
    if (host->phase != HOST_READY)
        return;
    host->phase = HOST_RUNNING;
    send_empty(host, AGENT_START);
}

static bool is_open(const struct job_host *host)
{
    return host->linked && !host->link.ended && host->phase != HOST_LOST;
}

static bool is_watched(const struct job_host *host)
{
    return host->phase >= HOST_DESCRIBING && host->phase < HOST_DONE;
}

void job_host_beat(struct job_host *host)
{
    if (!is_watched(host))
        return;
    wire_put_u64(frame_link_begin(&host->link, AGENT_HEARTBEAT), uv_hrtime() / 1000);
    frame_link_send(&host->link);
}

int job_host_waiting_rank(const struct job_host *host)
{
    for (int i = 0; i < host->where->local_size; i++)
        if (host->ranks[i].phase == RANK_WAITING)
            return host->where->first_rank + i;
    return -1;
}

bool job_host_is_starting(const struct job_host *host)
{
    return host->phase == HOST_RUNNING && job_host_waiting_rank(host) >= 0;
}

/* What an agent does before its ranks run may block it, as a file system of the network does. */
static bool may_be_silent(const struct job_host *host)
{
    return !host->stopping && (host->phase == HOST_DESCRIBING || job_host_is_starting(host));
}

/* Whoever asks the rendezvous there, and reads no answers, must not fill our memory. */
static void look_at_queue(struct job_host *host)
{
    size_t limit = ((size_t)QUEUE_MIB + (size_t)host->where->local_size) << 20;
    if (is_watched(host) && frame_link_queued(&host->link) > limit)
        lose(host, STATUS_HOST_LOST, "the agent does not read what it is sent");
}

void job_host_look(struct job_host *host)
{
    char text[80];
    if (may_be_silent(host))
        silence_heard(&host->silence, uv_now(host->loop));
    look_at_queue(host);
    if (!is_watched(host) || !silence_look(&host->silence, uv_now(host->loop)))
        return;
    snprintf(text, sizeof text, "no sign of life for %.3g s (--heartbeat-timeout)",
             (double)host->options->silence_ms / 1000);
    lose(host, STATUS_HOST_LOST, text);
}

static void on_given_up(void *context)
{
    struct job_host *host = context;
    host->reach = NULL;
    host->phase = HOST_CLOSED;
    host->events->on_unreached(host->context, host->index, 0, "");
}

void job_host_stop(struct job_host *host, int signum, uint32_t grace_ms)
{
    struct agent_stop stop = { signum, grace_ms };
    if (host->phase == HOST_REACHING && !host->stopping) {
        host->stopping = true;
        reach_close(host->reach, on_given_up, host);
    }
    if (!is_open(host))
        return;
    host->stopping = true;
    agent_stop_encode(frame_link_begin(&host->link, AGENT_STOP), &stop);
    frame_link_send(&host->link);
}

void job_host_signal(struct job_host *host, int signum)
{
    if (host->phase < HOST_DESCRIBING || host->phase > HOST_RUNNING)
        return;
    wire_put_i32(frame_link_begin(&host->link, AGENT_SIGNAL), signum);
    frame_link_send(&host->link);
}

void job_host_credit(struct job_host *host, int rank, enum output_stream stream, uint32_t nbytes)
{
    struct agent_rank_number credit = { rank, (uint8_t)stream, nbytes };
    if (!is_open(host))
        return;
    find_rank(host, rank)->window[stream] += nbytes;
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

void job_host_relay_data(struct job_host *host, uint32_t id, const void *data, size_t length)
{
    const char *at = data;
    while (is_open(host) && length > 0) {
        size_t piece = length < RELAY_PIECE ? length : RELAY_PIECE;
        struct wire_writer *body = frame_link_begin(&host->link, AGENT_RELAY_DATA);
        wire_put_u32(body, id);
        wire_put_bytes(body, at, piece);
        frame_link_send(&host->link);
        at += piece;
        length -= piece;
    }
}

void job_host_relay_end(struct job_host *host, uint32_t id)
{
    if (!is_open(host))
        return;
    wire_put_u32(frame_link_begin(&host->link, AGENT_RELAY_END), id);
    frame_link_send(&host->link);
}

bool job_host_cut(struct job_host *host)
{
    if (host->phase < HOST_DESCRIBING || host->phase >= HOST_DONE)
        return false;
    host->phase = HOST_LOST;
    host->lost_status = STATUS_HOST_LOST;
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

bool job_host_has_read(const struct job_host *host, uint64_t until_us)
{
    return !is_watched(host) || host->echoed_us >= until_us;
}

void job_host_close(struct job_host *host, void (*on_closed)(void *context), void *context)
{
    host->on_closed = on_closed;
    host->closed_context = context;
    host->phase = HOST_CLOSED; /* and what is heard until the way is closed is not told */
    if (host->linked)
        hang_up(host);
    else if (host->reach)
        reach_close(host->reach, on_everything_closed, host);
    else
        on_everything_closed(host);
}
