/* SPDX-License-Identifier: Apache-2.0 */
/* stdout and stderr of each rank to hvdrun, hvdrun's stdin to rank 0. A pump reads only while it
 * has credit. A rank that writes faster than hvdrun's reader reads is therefore slowed down by its
 * own pipe and slows down nothing else. While the link is full, no pump reads. Never fails: a
 * broken pipe is the end of the stream. */
#include "launcher/agent/agent_impl.h"

#include "launcher/base/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { PUMP_CHUNK = 64 * 1024 };

static void pump_end(struct agent_pump *pump)
{
    struct agent *agent = pump->rank->agent;
    if (pump->ended)
        return;
    pump->ended = true;
    pump->reading = false;
    agent->streams.open--;
    struct agent_rank_number end = { pump->rank->rank, pump->stream, 0 };
    agent_rank_number_encode(frame_link_begin(&agent->link, AGENT_OUTPUT_END), &end);
    frame_link_send(&agent->link);
    uv_close((uv_handle_t *)&pump->pipe, NULL);
}

/* One buffer serves all pumps: a read is copied into its frame before the next one begins. */
static void on_pump_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char chunk[PUMP_CHUNK];
    struct agent_pump *pump = handle->data;
    (void)suggested;
    *buffer = uv_buf_init(chunk, pump->credit < PUMP_CHUNK ? pump->credit : PUMP_CHUNK);
}

static void pump_pause(struct agent_pump *pump)
{
    pump->reading = false;
    uv_read_stop((uv_stream_t *)&pump->pipe);
}

static void pause_all_pumps(struct agent *agent)
{
    agent->streams.paused = true;
    for (int i = 0; i < agent->ranks.count; i++)
        for (int stream = 0; stream < OUTPUT_STREAMS && agent->ranks.list[i]->pid; stream++)
            if (agent->ranks.list[i]->pumps[stream].reading)
                pump_pause(&agent->ranks.list[i]->pumps[stream]);
}

static void pump_read(struct agent_pump *pump);

/* When the other end is closed, libuv takes a short read for the last one. A pipe in packet mode
 * (O_DIRECT, which its writer may choose) returns one packet per read. */
static bool has_more(const struct agent_pump *pump)
{
    uv_os_fd_t fd;
    int nbytes = 0;
    return uv_fileno((const uv_handle_t *)&pump->pipe, &fd) == 0 &&
           ioctl(fd, FIONREAD, &nbytes) == 0 && nbytes > 0;
}

static void pump_drain(struct agent_pump *pump)
{
    if (!has_more(pump)) {
        pump_end(pump);
        return;
    }
    pump->reading = false;
    pump_read(pump);
}

/* Streams that were readable at the same time carry the same time: nobody knows which was written
 * first. */
static void pump_pass_on(struct agent_pump *pump, const char *data, size_t length)
{
    struct agent *agent = pump->rank->agent;
    struct wire_writer *body = frame_link_begin(&agent->link, AGENT_OUTPUT);
    wire_put_i32(body, pump->rank->rank);
    wire_put_u8(body, pump->stream);
    wire_put_u64(body, uv_now(agent->loop) * 1000);
    wire_put_bytes(body, data, length);
    frame_link_send(&agent->link);
    pump->credit -= (uint32_t)length;
    pump->last_progress_ms = uv_now(agent->loop);
    pump->expiring = false;
    if (pump->credit == 0)
        pump_pause(pump);
    if (frame_link_queued(&agent->link) > AGENT_LINK_QUEUE_MAX)
        pause_all_pumps(agent);
}

static void on_pump_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    struct agent_pump *pump = stream->data;
    if (nread == UV_EOF)
        pump_drain(pump);
    else if (nread < 0)
        pump_end(pump);
    else if (nread > 0)
        pump_pass_on(pump, buffer->base, (size_t)nread);
    if (pump->ended)
        agent_output_is_over(pump->rank->agent);
}

/* On an error this stops, and libuv will report the error. */
static void pump_take_rest(struct agent_pump *pump)
{
    static char chunk[PUMP_CHUNK];
    uv_os_fd_t fd;
    ssize_t n = 1;
    while (n > 0 && pump->reading && has_more(pump)) {
        if (uv_fileno((const uv_handle_t *)&pump->pipe, &fd) < 0)
            return;
        n = read(fd, chunk, pump->credit < PUMP_CHUNK ? pump->credit : PUMP_CHUNK);
        if (n > 0)
            pump_pass_on(pump, chunk, (size_t)n);
    }
}

void agent_streams_take_stderr(struct agent *agent)
{
    for (int i = 0; i < agent->ranks.count; i++)
        if (agent->ranks.list[i]->pid)
            pump_take_rest(&agent->ranks.list[i]->pumps[STREAM_STDERR]);
}

static void pump_read(struct agent_pump *pump)
{
    if (pump->ended || pump->reading || pump->credit == 0 || pump->rank->agent->streams.paused)
        return;
    pump->reading = true;
    pump->last_progress_ms = uv_now(pump->rank->agent->loop);
    uv_read_start((uv_stream_t *)&pump->pipe, on_pump_alloc, on_pump_read);
}

void agent_pumps_resume(struct agent *agent)
{
    if (!agent->streams.paused)
        return;
    agent->streams.paused = false;
    for (int i = 0; i < agent->ranks.count; i++)
        for (int stream = 0; stream < OUTPUT_STREAMS && agent->ranks.list[i]->pid; stream++)
            pump_read(&agent->ranks.list[i]->pumps[stream]);
}

void agent_pump_start(struct agent_rank *rank, enum output_stream stream, int fd)
{
    struct agent_pump *pump = &rank->pumps[stream];
    *pump = (struct agent_pump){ .rank = rank, .stream = (uint8_t)stream, .credit = STREAM_WINDOW };
    rank->agent->streams.open++;
    uv_pipe_init(rank->agent->loop, &pump->pipe, 0);
    pump->pipe.data = pump;
    if (uv_pipe_open(&pump->pipe, fd) < 0) {
        close(fd);
        pump_end(pump);
        return;
    }
    pump_read(pump);
}

int agent_on_credit(struct agent *agent, struct wire_reader *body, struct err *err)
{
    struct agent_rank_number credit;
    int rc = agent_rank_number_decode(&credit, body, err);
    if (rc < 0)
        return rc;
    struct agent_rank *rank = agent_find_rank(agent, credit.rank);
    if (!rank || !rank->pid)
        return fail(err, HVD_ERR_PROTOCOL, "CREDIT for rank %d, which does not run here",
                    credit.rank);
    struct agent_pump *pump = &rank->pumps[credit.stream];
    if (credit.number > STREAM_WINDOW - pump->credit)
        return fail(err, HVD_ERR_PROTOCOL, "more CREDIT for rank %d than was used", credit.rank);
    pump->credit += credit.number;
    pump_read(pump);
    return HVD_OK;
}

/* The ranks have ended. Their last bytes may still be in the pipe when the timer fires, however
 * long ago they were written: so a pump is ended only when it was idle at two checks, with the loop
 * having read the pipe in between. */
static bool pump_has_ended(struct agent_pump *pump, uint64_t now_ms, uint64_t since_ms)
{
    uint64_t idle_since = pump->last_progress_ms > since_ms ? pump->last_progress_ms : since_ms;
    if (pump->ended || !pump->reading || now_ms - idle_since < AGENT_OUTPUT_WAIT_MS)
        return pump->ended;
    if (pump->expiring)
        pump_end(pump);
    pump->expiring = true;
    return pump->ended;
}

bool agent_pumps_ended(struct agent *agent, uint64_t now_ms)
{
    bool ended = true;
    for (int i = 0; i < agent->ranks.count; i++)
        for (int stream = 0; stream < OUTPUT_STREAMS && agent->ranks.list[i]->pid; stream++)
            ended &= pump_has_ended(&agent->ranks.list[i]->pumps[stream], now_ms,
                                    agent->ending.sweeping_since_ms);
    return ended;
}

void agent_pumps_give_up(struct agent *agent)
{
    for (int i = 0; i < agent->ranks.count; i++)
        for (int stream = 0; stream < OUTPUT_STREAMS && agent->ranks.list[i]->running; stream++)
            pump_end(&agent->ranks.list[i]->pumps[stream]);
}

/* A piece of stdin on its way into rank 0's pipe. */
struct stdin_write {
    uv_write_t write;
    struct agent *agent;
    uint32_t length;
    char bytes[];
};

static void stdin_close(struct agent *agent)
{
    if (!agent->streams.stdin_pipe.open)
        return;
    agent->streams.stdin_pipe.open = false;
    uv_close((uv_handle_t *)&agent->streams.stdin_pipe.pipe, NULL);
}

static void send_stdin_credit(struct agent *agent, uint32_t nbytes)
{
    agent->streams.stdin_pipe.credit += nbytes;
    wire_put_u32(frame_link_begin(&agent->link, AGENT_STDIN_CREDIT), nbytes);
    frame_link_send(&agent->link);
}

/* It is no error when a rank does not read any more, or has closed its stdin: the agent gives no
 * more credit. */
static void on_stdin_written(uv_write_t *write, int status)
{
    struct stdin_write *piece = (struct stdin_write *)write;
    struct agent *agent = piece->agent;
    if (status == 0)
        send_stdin_credit(agent, piece->length);
    free(piece);
    if (status < 0 && status != UV_ECANCELED)
        stdin_close(agent);
}

static void on_stdin_shutdown(uv_shutdown_t *shutdown, int status)
{
    (void)status;
    stdin_close(shutdown->data);
    free(shutdown);
}

static void stdin_end(struct agent *agent)
{
    uv_shutdown_t *shutdown = xmalloc(sizeof *shutdown);
    shutdown->data = agent;
    if (uv_shutdown(shutdown, (uv_stream_t *)&agent->streams.stdin_pipe.pipe, on_stdin_shutdown) <
        0) {
        free(shutdown);
        stdin_close(agent);
    }
}

void agent_stdin_start(struct agent *agent, int fd)
{
    uv_pipe_t *pipe = &agent->streams.stdin_pipe.pipe;
    uv_pipe_init(agent->loop, pipe, 0);
    agent->streams.stdin_pipe.open = true;
    if (uv_pipe_open(pipe, fd) < 0) {
        close(fd);
        stdin_close(agent);
        return;
    }
    send_stdin_credit(agent, STDIN_WINDOW);
}

int agent_on_stdin(struct agent *agent, struct wire_reader *body, struct err *err)
{
    uint32_t length = (uint32_t)body->left;
    if (length > agent->streams.stdin_pipe.credit)
        return fail(err, HVD_ERR_PROTOCOL, "more STDIN than there is credit for");
    agent->streams.stdin_pipe.credit -= length;
    if (!agent->streams.stdin_pipe.open)
        return HVD_OK;
    if (length == 0) {
        stdin_end(agent);
        return HVD_OK;
    }
    struct stdin_write *piece = xmalloc(sizeof *piece + length);
    piece->agent = agent;
    piece->length = length;
    memcpy(piece->bytes, wire_get_bytes(body, length), length);
    uv_buf_t buffer = uv_buf_init(piece->bytes, length);
    int rc = uv_write(&piece->write, (uv_stream_t *)&agent->streams.stdin_pipe.pipe, &buffer, 1,
                      on_stdin_written);
    if (rc < 0)
        on_stdin_written(&piece->write, rc);
    return HVD_OK;
}

void agent_streams_close(struct agent *agent)
{
    stdin_close(agent);
    for (int i = 0; i < agent->ranks.count; i++)
        for (int stream = 0; stream < OUTPUT_STREAMS && agent->ranks.list[i]->pid; stream++)
            pump_end(&agent->ranks.list[i]->pumps[stream]);
}
