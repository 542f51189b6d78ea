/* SPDX-License-Identifier: Apache-2.0 */
/* Frames over a pair of descriptors; see frame_link.h. The link ends when the other side closes it,
 * on a read or write error, on a frame that is malformed or that its handler refuses, and when
 * memory for it runs out. It is reported as ended once. After a write error, frames that the other
 * side sent earlier may still arrive, so the link waits for them before it ends. */
#include "launcher/protocol/frame_link.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* How long to wait for the last frames after the other side has stopped reading. A timer that is
 * later than LATE_MS shows that this process was stopped, and frames may be unread. */
enum { LAST_LINE_MS = 2000, LATE_MS = 500 };

/* Bytes that do not wait for the end of the turn. */
enum { TURN_BYTES = 64 * 1024 };

static void frame_link_end(struct frame_link *link, const struct err *err)
{
    if (link->ended)
        return;
    link->ended = true;
    uv_read_stop((uv_stream_t *)&link->input);
    uv_timer_stop(&link->ending);
    link->events.on_end(link->context, err);
}

/* Drops bytes that were sent, or never will be. */
static void frame_link_forget(struct wire_writer *writer)
{
    if (writer->secret && writer->length > 0)
        explicit_bzero(writer->data, writer->length);
    writer->length = 0;
    writer->secret = false;
}

static void end_soon(struct frame_link *link, uint64_t after_ms);

static void on_ending(uv_timer_t *ending)
{
    struct frame_link *link = ending->data;
    bool late = uv_now(ending->loop) > link->ending_ms + LATE_MS;
    if (late && !link->put_off && link->why.code != HVD_ERR_NOMEM) {
        link->put_off = true;
        end_soon(link, LAST_LINE_MS);
    } else {
        frame_link_end(link, &link->why);
    }
}

/* The sender may be in the middle of a call, so the end is reported in a later iteration of the
 * loop. */
static void end_soon(struct frame_link *link, uint64_t after_ms)
{
    link->reader_gone = true;
    frame_link_forget(&link->next);
    link->ending_ms = uv_now(link->ending.loop) + after_ms;
    if (!link->ended)
        uv_timer_start(&link->ending, on_ending, after_ms, 0);
}

static void on_frame_link_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct frame_link *link = handle->data;
    size_t size = 0;
    (void)suggested;
    buffer->base = frame_reader_space(&link->reader, &size);
    buffer->len = buffer->base ? size : 0;
}

static void deliver_frames(struct frame_link *link)
{
    struct frame frame;
    struct err err = { 0 };
    int rc = 0;
    while (!link->ended && (rc = frame_reader_next(&link->reader, &frame, &err)) > 0)
        if ((rc = link->events.on_frame(link->context, &frame, &err)) < 0)
            break;
    if (rc < 0)
        frame_link_end(link, &err);
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    struct frame_link *link = stream->data;
    struct err err = { 0 };
    (void)buffer;
    if (nread > 0) {
        frame_reader_commit(&link->reader, (size_t)nread);
        if (link->events.on_bytes)
            link->events.on_bytes(link->context);
        deliver_frames(link);
    } else if (nread == UV_EOF) {
        frame_link_end(link, &err);
    } else if (nread < 0) {
        fail(&err, HVD_ERR_SYSTEM, "read: %s", uv_strerror((int)nread));
        frame_link_end(link, &err);
    }
}

static void init_handle(struct frame_link *link, uv_loop_t *loop, uv_pipe_t *pipe)
{
    uv_pipe_init(loop, pipe, 0);
    pipe->data = link;
    link->open_handles++;
}

/* The pipe owns `fd` from now on, also on failure. */
static int open_handle(uv_pipe_t *pipe, int fd, struct err *err)
{
    if (fd < 0)
        return fail(err, HVD_ERR_SYSTEM, "no descriptor is left");
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    int rc = uv_pipe_open(pipe, fd);
    if (rc == 0)
        return HVD_OK;
    close(fd);
    return fail(err, HVD_ERR_SYSTEM, "open link: %s", uv_strerror(rc));
}

int frame_link_open(struct frame_link *link, uv_loop_t *loop, int input, int output,
                    const struct frame_link_events *events, void *context, struct err *err)
{
    *link = (struct frame_link){ .events = *events, .context = context };
    frame_reader_init(&link->reader, FRAME_BODY_MAX);
    link->reader.secret = true; /* the key of the job passes here */
    init_handle(link, loop, &link->input);
    init_handle(link, loop, &link->output);
    uv_timer_init(loop, &link->ending);
    uv_idle_init(loop, &link->turn);
    link->ending.data = link->turn.data = link;
    link->open_handles += 2;
    if (output == input)
        output = fcntl(input, F_DUPFD_CLOEXEC, 3);
    int rc = open_handle(&link->output, output, err);
    if (rc < 0) {
        close(input);
        return rc;
    }
    if ((rc = open_handle(&link->input, input, err)) < 0)
        return rc;
    uv_read_start((uv_stream_t *)&link->input, on_frame_link_alloc, on_read);
    return HVD_OK;
}

struct wire_writer *frame_link_begin(struct frame_link *link, uint16_t type)
{
    link->frame_begin = frame_begin(&link->next, type);
    return &link->next;
}

static void frame_link_flush(struct frame_link *link);

static void on_frame_link_written(uv_write_t *write, int status)
{
    struct frame_link *link = write->data;
    link->writing = false;
    frame_link_forget(&link->flying);
    if (link->closing)
        return;
    if (status < 0) {
        fail(&link->why, HVD_ERR_SYSTEM, "write: %s", uv_strerror(status));
        end_soon(link, LAST_LINE_MS);
    } else if (link->next.length > 0)
        frame_link_flush(link);
    else if (link->events.on_drained)
        link->events.on_drained(link->context);
}

static void frame_link_flush(struct frame_link *link)
{
    struct wire_writer empty = link->flying;
    link->flying = link->next;
    link->next = empty;
    uv_buf_t buffer = { .base = (char *)link->flying.data, .len = link->flying.length };
    link->write.data = link;
    link->writing = true;
    link->flown += link->flying.length;
    int rc =
        uv_write(&link->write, (uv_stream_t *)&link->output, &buffer, 1, on_frame_link_written);
    if (rc < 0)
        on_frame_link_written(&link->write, rc);
}

static void on_frame_link_turn(uv_idle_t *turn)
{
    struct frame_link *link = turn->data;
    uv_idle_stop(turn);
    if (!link->writing && link->next.length > 0)
        frame_link_flush(link);
}

void frame_link_send(struct frame_link *link)
{
    if (link->ended || link->reader_gone) {
        frame_link_forget(&link->next);
        return;
    }
    if (link->next.failed) {
        uv_read_stop((uv_stream_t *)&link->input);
        fail(&link->why, HVD_ERR_NOMEM, "out of memory");
        end_soon(link, 0);
        return;
    }
    frame_end(&link->next, link->frame_begin);
    if (link->writing)
        return;
    if (link->next.length >= TURN_BYTES)
        frame_link_flush(link);
    else
        uv_idle_start(&link->turn, on_frame_link_turn);
}

void frame_link_hurry(struct frame_link *link)
{
    bool may_write = !link->ended && !link->reader_gone && !link->writing && !link->next.failed;
    if (may_write && link->next.length > 0)
        frame_link_flush(link);
}

size_t frame_link_queued(const struct frame_link *link)
{
    return link->next.length + link->flying.length;
}

uint64_t frame_link_written(const struct frame_link *link, bool *waits)
{
    size_t left = uv_stream_get_write_queue_size((const uv_stream_t *)&link->output);
    *waits = left > 0;
    return link->flown - left;
}

static void on_frame_link_handle_closed(uv_handle_t *handle)
{
    struct frame_link *link = handle->data;
    if (--link->open_handles > 0)
        return;
    frame_reader_fini(&link->reader);
    wire_writer_fini(&link->next);
    wire_writer_fini(&link->flying);
    if (link->on_closed)
        link->on_closed(link->context);
}

void frame_link_close(struct frame_link *link, void (*on_closed)(void *context))
{
    link->closing = link->ended = true;
    link->on_closed = on_closed;
    uv_buf_t left = { .base = (char *)link->next.data, .len = link->next.length };
    if (left.len > 0) /* refused while earlier bytes wait for the other side */
        uv_try_write((uv_stream_t *)&link->output, &left, 1);
    uv_close((uv_handle_t *)&link->turn, on_frame_link_handle_closed);
    uv_close((uv_handle_t *)&link->input, on_frame_link_handle_closed);
    uv_close((uv_handle_t *)&link->output, on_frame_link_handle_closed);
    uv_close((uv_handle_t *)&link->ending, on_frame_link_handle_closed);
}
