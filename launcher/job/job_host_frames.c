/* SPDX-License-Identifier: Apache-2.0 */
/* The frames of an agent, each through one table to its handler; see job_host.h. Fails on a frame
 * that is malformed, out of turn, about a rank of another host, or has impossible values. */
#include "launcher/job/job_host_impl.h"

#include "launcher/base/exit_status.h"
#include "lib/base/text.h"

#include <string.h>

/* Limits of an agent's values: the highest pid of Linux. */
enum { PROCESSES_MAX = 1 << 22, NOTES_MAX = 16, STACKS_OF_RANK_MAX = 16 };

struct host_rank *job_host_find_rank(struct job_host *host, int rank)
{
    int low = 0, high = host->where.local_size;
    while (low < high) {
        int middle = (low + high) / 2;
        if (host->where.ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < host->where.local_size && host->where.ranks[low] == rank ? &host->ranks[low]
                                                                          : NULL;
}

static int not_here(int rank, struct err *err)
{
    return fail(err, HVD_ERR_PROTOCOL, "the agent speaks of rank %d in a wrong way", rank);
}

void job_host_take_step(struct job_host *host, enum host_step step)
{
    host->step = step;
    host->step_since_ms = uv_hrtime() / 1000000;
    host->events->on_step(host->context, host->index, step);
}

/* An agent reports once: after its checks, or after the first one that fails. So these are the
 * steps that the host has passed, in the order of enum host_step and at the time of the report. The
 * agent checks in its own order (launcher/agent/agent_setup.c). */
static void job_host_pass_steps(struct job_host *host, enum host_step step)
{
    while (host->step < step)
        job_host_take_step(host, host->step + 1);
    if (host->step != step)
        job_host_take_step(host, step);
}

static int on_job_host_frames_ready(struct job_host *host, struct wire_reader *body,
                                    struct err *err)
{
    int rc = agent_ready_decode(&host->facts, body, err);
    if (rc < 0)
        return rc;
    if (host->facts.clock_ms > CLOCK_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "READY with a clock that cannot be");
    text_make_line(host->facts.machine);
    text_make_line(host->facts.cuda);
    host->phase = HOST_READY;
    host->history.ready_ms = uv_now(host->loop);
    job_host_pass_steps(host, STEP_READY);
    host->events->on_ready(host->context, host->index);
    return HVD_OK;
}

static int on_job_host_frames_failed(struct job_host *host, struct wire_reader *body,
                                     struct err *err)
{
    struct agent_failed failed;
    int rc = agent_failed_decode(&failed, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = job_host_find_rank(host, failed.rank);
    if (failed.rank != -1 && (!rank || rank->phase != RANK_WAITING))
        return not_here(failed.rank, err);
    if (rank)
        rank->phase = RANK_ENDED;
    text_make_line(failed.text);
    if (failed.rank == -1 && failed.exit_status == STATUS_HOST_LOST)
        host->awaits_cause = host->srun;
    if (failed.rank == -1)
        job_host_pass_steps(host, (enum host_step)failed.step);
    host->events->on_failed(host->context, host->index, &failed);
    return HVD_OK;
}

static int on_bound(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_bound bound;
    int rc = agent_bound_decode(&bound, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = job_host_find_rank(host, bound.rank);
    if (!rank || rank->phase != RANK_WAITING || !host->options->attributes.report_bindings)
        return not_here(bound.rank, err);
    text_make_line(bound.text);
    host->events->on_bound(host->context, bound.rank, bound.text);
    return HVD_OK;
}

static int on_started(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_rank_number started;
    int rc = agent_rank_number_decode(&started, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = job_host_find_rank(host, started.rank);
    if (!rank || rank->phase != RANK_WAITING)
        return not_here(started.rank, err);
    rank->phase = RANK_RUNNING;
    host->events->on_started(host->context, started.rank, (pid_t)started.number);
    return HVD_OK;
}

static int on_job_host_frames_output(struct job_host *host, struct wire_reader *body,
                                     struct err *err)
{
    int number = wire_get_i32(body);
    uint8_t stream = wire_get_u8(body);
    uint64_t read_us = wire_get_u64(body);
    size_t length = body->left;
    const char *data = wire_get_bytes(body, length);
    struct host_rank *rank = job_host_find_rank(host, number);
    if (body->failed || !rank || rank->phase == RANK_WAITING || stream >= OUTPUT_STREAMS ||
        rank->output_ended[stream] || length > rank->window[stream] || read_us > CLOCK_MAX)
        return not_here(number, err);
    rank->window[stream] -= (uint32_t)length;
    host->events->on_output(host->context, number, (enum output_stream)stream, read_us, data,
                            length);
    return HVD_OK;
}

static int on_output_end(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_rank_number end;
    int rc = agent_rank_number_decode(&end, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = job_host_find_rank(host, end.rank);
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
    if (host->where.ranks[0] != 0 || nbytes > STDIN_WINDOW - host->stdin_window)
        return fail(err, HVD_ERR_PROTOCOL, "the agent asks for stdin that is not its");
    host->stdin_window += nbytes;
    host->events->on_stdin_credit(host->context, nbytes);
    return HVD_OK;
}

static int on_exchanged(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    int32_t error = wire_get_i32(body);
    size_t length = body->left;
    const void *answer = wire_get_bytes(body, length);
    if (body->failed || error > 0 || length > AGENT_EXCHANGE_MAX || (error < 0 && length > 0))
        return fail(err, HVD_ERR_PROTOCOL, "malformed EXCHANGED frame");
    if (host->events->on_exchanged)
        host->events->on_exchanged(host->context, id, error, answer, length);
    return HVD_OK;
}

static int on_exited(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_exited exited;
    int rc = agent_exited_decode(&exited, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = job_host_find_rank(host, exited.end.rank);
    if (!rank || rank->phase != RANK_RUNNING || exited.end.at_us > CLOCK_MAX)
        return not_here(exited.end.rank, err);
    rank->phase = RANK_ENDED;
    host->events->on_exited(host->context, &exited);
    return HVD_OK;
}

/* Reports at most NOTES_MAX stops of each rank. */
static int on_stopped(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct rank_end stopped;
    int rc = agent_stopped_decode(&stopped, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = job_host_find_rank(host, stopped.rank);
    if (!rank || rank->phase != RANK_RUNNING)
        return not_here(stopped.rank, err);
    rank->stopped = stopped.how.kind == RANK_END_STOPPED;
    if (host->events->on_stopped && rank->stopped && rank->nstops++ < NOTES_MAX)
        host->events->on_stopped(host->context, stopped.rank, &stopped.how);
    return HVD_OK;
}

/* Drops the notes beyond NOTES_MAX. */
static int on_job_host_frames_note(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_note note;
    int rc = agent_note_decode(&note, body, err);
    if (rc < 0)
        return rc;
    text_make_line(note.text);
    if (host->nnotes++ < NOTES_MAX)
        host->events->on_note(host->context, host->index, true, note.text);
    return HVD_OK;
}

/* Drops what is too much for the ranks of the host. */
static int on_stack(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_stack stack;
    int rc = agent_stack_decode(&stack, body, err);
    if (rc < 0)
        return rc;
    struct host_rank *rank = job_host_find_rank(host, stack.rank);
    if (!rank || rank->phase == RANK_WAITING || host->stacks_id == 0)
        return not_here(stack.rank, err);
    if (host->events->on_stack && host->nstacks++ < STACKS_OF_RANK_MAX * host->where.local_size)
        host->events->on_stack(host->context, stack.rank, stack.where);
    return HVD_OK;
}

static int on_stacks_done(struct job_host *host, struct wire_reader *body, struct err *err)
{
    uint32_t id = wire_get_u32(body);
    int rc = agent_frame_finished(body, AGENT_STACKS_DONE, err);
    if (rc == HVD_OK && host->events->on_stacks_done)
        host->events->on_stacks_done(host->context, host->index, id);
    return rc;
}

static int on_job_host_frames_drain(struct job_host *host, struct wire_reader *body,
                                    struct err *err)
{
    int rc = agent_frame_finished(body, AGENT_DRAIN, err);
    if (rc == HVD_OK && !host->options->elastic)
        return fail(err, HVD_ERR_PROTOCOL, "DRAIN in a job that is not elastic");
    if (rc == HVD_OK && host->events->on_drain)
        host->events->on_drain(host->context, host->index);
    return rc;
}

static int on_heartbeat(struct job_host *host, struct wire_reader *body, struct err *err)
{
    struct agent_heartbeat echo;
    uint64_t now = uv_hrtime() / 1000;
    int rc = agent_heartbeat_decode(&echo, body, err);
    if (rc < 0)
        return rc;
    if (echo.stamp <= now && echo.clock_us <= CLOCK_MAX)
        clock_offset_compare(&host->clock, echo.stamp, echo.clock_us, now);
    host->round_trip_us = echo.stamp <= now ? now - echo.stamp : 0;
    host->echoed_us = echo.stamp;
    host->unanswered = 0;
    if (host->events->on_alive)
        host->events->on_alive(host->context, host->index);
    return HVD_OK;
}

static int on_job_host_frames_done(struct job_host *host, struct wire_reader *body, struct err *err)
{
    int left = wire_get_i32(body);
    int rc = agent_frame_finished(body, AGENT_DONE, err);
    if (rc < 0)
        return rc;
    if (left < 0 || left > PROCESSES_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "DONE with %d processes left", left);
    for (int i = 0; i < host->where.local_size; i++)
        if (host->ranks[i].phase == RANK_RUNNING
                ? left == 0
                : host->ranks[i].phase == RANK_WAITING && !host->stopping)
            return not_here(host->where.ranks[i], err);
    host->phase = HOST_DONE;
    host->history.done_ms = uv_now(host->loop);
    host->events->on_done(host->context, host->index, left);
    return HVD_OK;
}

typedef int (*frame_fn)(struct job_host *host, struct wire_reader *body, struct err *err);

/* The frames, and the phases [first, last] in which each may come. */
static const struct {
    frame_fn handle;
    enum host_phase first, last;
} handlers[AGENT_FRAME_TYPES] = {
    [AGENT_READY] = { on_job_host_frames_ready, HOST_DESCRIBING, HOST_DESCRIBING },
    [AGENT_FAILED] = { on_job_host_frames_failed, HOST_DESCRIBING, HOST_RUNNING },
    [AGENT_BOUND] = { on_bound, HOST_RUNNING, HOST_RUNNING },
    [AGENT_STARTED] = { on_started, HOST_RUNNING, HOST_RUNNING },
    [AGENT_OUTPUT] = { on_job_host_frames_output, HOST_RUNNING, HOST_RUNNING },
    [AGENT_OUTPUT_END] = { on_output_end, HOST_RUNNING, HOST_RUNNING },
    [AGENT_STDIN_CREDIT] = { on_stdin_credit, HOST_RUNNING, HOST_RUNNING },
    [AGENT_STOPPED] = { on_stopped, HOST_RUNNING, HOST_RUNNING },
    [AGENT_EXITED] = { on_exited, HOST_RUNNING, HOST_RUNNING },
    [AGENT_RELAY_OPEN] = { job_host_on_relay_open, HOST_READY, HOST_DONE },
    [AGENT_RELAY_DATA] = { job_host_on_relay_data, HOST_READY, HOST_DONE },
    [AGENT_RELAY_END] = { job_host_on_relay_end, HOST_READY, HOST_DONE },
    [AGENT_EXCHANGED] = { on_exchanged, HOST_RUNNING, HOST_DONE },
    [AGENT_STACK] = { on_stack, HOST_RUNNING, HOST_DONE },
    [AGENT_STACKS_DONE] = { on_stacks_done, HOST_RUNNING, HOST_DONE },
    [AGENT_DRAIN] = { on_job_host_frames_drain, HOST_RUNNING, HOST_RUNNING },
    [AGENT_HEARTBEAT] = { on_heartbeat, HOST_DESCRIBING, HOST_DONE },
    [AGENT_NOTE] = { on_job_host_frames_note, HOST_RUNNING, HOST_RUNNING },
    [AGENT_DONE] = { on_job_host_frames_done, HOST_DESCRIBING, HOST_RUNNING },
};

static int on_tunnel_frame(struct job_host *host, const struct frame *frame, struct err *err)
{
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    return tunnels_on_frame(&host->tunnels, frame->type, &body, err);
}

int job_host_on_frame(void *context, const struct frame *frame, struct err *err)
{
    struct job_host *host = context;
    if (tunnels_has_frame(frame->type) && host->phase >= HOST_READY && host->phase <= HOST_DONE)
        return on_tunnel_frame(host, frame, err);
    if (frame->type >= AGENT_FRAME_TYPES || !handlers[frame->type].handle)
        return fail(err, HVD_ERR_PROTOCOL, "frame of unknown type %u", frame->type);
    if (host->phase < handlers[frame->type].first || host->phase > handlers[frame->type].last)
        return fail(err, HVD_ERR_PROTOCOL, "%s frame out of turn", agent_frame_name(frame->type));
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    return handlers[frame->type].handle(host, &body, err);
}
