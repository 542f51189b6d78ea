/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a tunnel; see tunnel_end.h. The bytes may hold the key of the job, so copies are
 * wiped. */
#include "launcher/tree/tunnel_end.h"

#include "launcher/base/xalloc.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of one frame; and how many written bytes are reported as credit at once. */
enum { TUNNEL_CHUNK = 64 * 1024, TUNNEL_CREDIT_STEP = TUNNEL_WINDOW / 4 };

/* Bytes on their way to the descriptor. */
struct tunnel_write {
    uv_write_t write;
    struct tunnel_end *end;
    size_t length;
    bool credited; /* they have come from the other end */
    char bytes[];
};

int tunnel_end_open(struct tunnel_end *end, uv_loop_t *loop, int fd, struct frame_link *link,
                    uint32_t number, struct err *err)
{
    *end = (struct tunnel_end){ .link = link, .number = number };
    end->may_send = end->may_come = TUNNEL_WINDOW;
    uv_pipe_init(loop, &end->pipe, 0);
    end->pipe.data = end;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    int rc = uv_pipe_open(&end->pipe, fd);
    if (rc == 0)
        return HVD_OK;
    close(fd);
    return fail(err, HVD_ERR_SYSTEM, "tunnel: %s", uv_strerror(rc));
}

/* ---- from the descriptor to the link ---- */

/* One buffer serves all ends: a read is copied into its frame before the next one begins. */
static char tunnel_chunk[TUNNEL_CHUNK];

static void on_tunnel_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    const struct tunnel_end *end = handle->data;
    (void)suggested;
    *buffer =
        uv_buf_init(tunnel_chunk, end->may_send < TUNNEL_CHUNK ? end->may_send : TUNNEL_CHUNK);
}

static bool tunnel_may_read(const struct tunnel_end *end)
{
    bool full = end->link && end->queue_max > 0 && frame_link_queued(end->link) > end->queue_max;
    return end->may_send > 0 && !full && !end->input_ended && !end->closing;
}

static void tunnel_pass_on(struct tunnel_end *end, const char *data, size_t length)
{
    end->may_send -= (uint32_t)length;
    if (!end->link)
        return;
    struct wire_writer *body = frame_link_begin(end->link, AGENT_TUNNEL_DATA);
    body->secret = true;
    wire_put_u32(body, end->number);
    wire_put_bytes(body, data, length);
    frame_link_send(end->link);
}

static void on_tunnel_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buffer)
{
    struct tunnel_end *end = stream->data;
    if (nread > 0) {
        tunnel_pass_on(end, buffer->base, (size_t)nread);
        explicit_bzero(buffer->base, (size_t)nread);
    }
    end->input_ended = nread < 0;
    if (!tunnel_may_read(end)) {
        end->reading = false;
        uv_read_stop(stream);
    }
    if (end->input_ended)
        end->on_input_end(end->context);
}

void tunnel_end_read(struct tunnel_end *end)
{
    if (end->reading || !tunnel_may_read(end))
        return;
    end->reading = true;
    uv_read_start((uv_stream_t *)&end->pipe, on_tunnel_alloc, on_tunnel_read);
}

int tunnel_end_credit(struct tunnel_end *end, uint32_t nbytes, struct err *err)
{
    if (nbytes > TUNNEL_WINDOW - end->may_send)
        return fail(err, HVD_ERR_PROTOCOL, "more TUNNEL_CREDIT than was used");
    end->may_send += nbytes;
    tunnel_end_read(end);
    return HVD_OK;
}

/* ---- from the link to the descriptor ---- */

static void tunnel_written(struct tunnel_end *end, size_t length)
{
    end->untold += (uint32_t)length;
    if (end->untold < TUNNEL_CREDIT_STEP || !end->link)
        return;
    struct wire_writer *body = frame_link_begin(end->link, AGENT_TUNNEL_CREDIT);
    wire_put_u32(body, end->number);
    wire_put_u32(body, end->untold);
    frame_link_send(end->link);
    end->may_come += end->untold;
    end->untold = 0;
}

static void on_tunnel_end_closed(uv_handle_t *handle)
{
    struct tunnel_end *end = handle->data;
    if (end->on_closed)
        end->on_closed(end->context);
}

static void on_tunnel_written(uv_write_t *write, int status)
{
    struct tunnel_write *piece = (struct tunnel_write *)write;
    struct tunnel_end *end = piece->end;
    end->nwrites--;
    if (status == 0 && !end->closing && piece->credited)
        tunnel_written(end, piece->length);
    explicit_bzero(piece->bytes, piece->length);
    free(piece);
    if (end->finishing && end->nwrites == 0)
        tunnel_end_close(end, end->on_closed);
}

static void tunnel_write_later(struct tunnel_end *end, const char *data, size_t length,
                               bool credited)
{
    struct tunnel_write *piece = xmalloc(sizeof *piece + length);
    piece->end = end;
    piece->length = length;
    piece->credited = credited;
    memcpy(piece->bytes, data, length);
    uv_buf_t buffer = uv_buf_init(piece->bytes, (unsigned)length);
    end->nwrites++;
    int rc = uv_write(&piece->write, (uv_stream_t *)&end->pipe, &buffer, 1, on_tunnel_written);
    if (rc < 0)
        on_tunnel_written(&piece->write, rc);
}

/* At once, as far as the descriptor takes it. */
static void tunnel_write(struct tunnel_end *end, const void *data, size_t length, bool credited)
{
    if (end->closing || end->finishing || length == 0)
        return;
    uv_buf_t buffer = uv_buf_init((char *)data, (unsigned)length);
    int n = end->nwrites > 0 ? 0 : uv_try_write((uv_stream_t *)&end->pipe, &buffer, 1);
    size_t done = n > 0 ? (size_t)n : 0;
    if (done > 0 && credited)
        tunnel_written(end, done);
    if (done < length)
        tunnel_write_later(end, (const char *)data + done, length - done, credited);
}

int tunnel_end_take(struct tunnel_end *end, const void *data, size_t length, struct err *err)
{
    if (length > end->may_come)
        return fail(err, HVD_ERR_PROTOCOL, "more TUNNEL_DATA than there is credit for");
    end->may_come -= (uint32_t)length;
    tunnel_write(end, data, length, true);
    return HVD_OK;
}

void tunnel_end_put(struct tunnel_end *end, const void *data, size_t length)
{
    tunnel_write(end, data, length, false);
}

size_t tunnel_end_queued(const struct tunnel_end *end)
{
    return uv_stream_get_write_queue_size((const uv_stream_t *)&end->pipe);
}

/* ---- the end ---- */

void tunnel_end_close(struct tunnel_end *end, void (*on_closed)(void *context))
{
    end->on_closed = on_closed;
    if (end->closing)
        return;
    end->closing = true;
    end->reading = false;
    uv_close((uv_handle_t *)&end->pipe, on_tunnel_end_closed);
}

void tunnel_end_finish(struct tunnel_end *end, void (*on_closed)(void *context))
{
    end->on_closed = on_closed;
    if (end->nwrites == 0)
        tunnel_end_close(end, on_closed);
    else
        end->finishing = true;
}
