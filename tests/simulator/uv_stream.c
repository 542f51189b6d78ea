/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of libuv on the simulator's own (stream.h). A write is done when its bytes have left for
 * the other side, or with UV_EPIPE when that has gone; a shutdown comes after all writes. One read
 * a turn, of what is there; the end of the stream once, and an error once. What is under way when a
 * handle is closed ends with UV_ECANCELED. */
#include "tests/simulator/pool.h"
#include "tests/simulator/uv_impl.h"

#include <errno.h>

int uv_pipe_init(uv_loop_t *loop, uv_pipe_t *pipe, int ipc)
{
    (void)ipc;
    sim_handle_init(loop, pipe, UV_NAMED_PIPE, HANDLE_STREAM);
    return 0;
}

int uv_tcp_init(uv_loop_t *loop, uv_tcp_t *tcp)
{
    sim_handle_init(loop, tcp, UV_TCP, HANDLE_STREAM);
    return 0;
}

int uv_pipe_open(uv_pipe_t *pipe, uv_file fd)
{
    struct sim_handle *handle = sim_handle_of(pipe);
    handle->fd = fd;
    handle->end = sim_descriptor_end(fd);
    return handle->end ? 0 : UV_EBADF;
}

static void watch(struct sim_handle *handle, struct sim_user *user, void (*fn)(void *))
{
    *user = (struct sim_user){ handle->process, fn, handle, user->told };
}

/* One read a turn, as of a stream that never dries up. */
static void on_readable(void *context)
{
    struct sim_handle *handle = context;
    uv_stream_t *stream = (uv_stream_t *)handle->uv;
    if (!handle->active || handle->closing || !sim_readable(handle->end))
        return;
    uv_buf_t buffer = { 0 };
    int error;
    handle->alloc_fn(handle->uv, 65536, &buffer);
    if (buffer.len == 0) {
        handle->read_fn(stream, UV_ENOBUFS, &buffer);
        return;
    }
    long count = sim_read(handle->end, buffer.base, buffer.len, &error);
    if (count < 0)
        handle->active = false;
    handle->read_fn(stream, count >= 0 ? count : error ? -error : UV_EOF, &buffer);
    if (!handle->closing && handle->active && sim_readable(handle->end))
        sim_tell(&handle->end->reader);
}

int uv_read_start(uv_stream_t *stream, uv_alloc_cb alloc_fn, uv_read_cb read_fn)
{
    struct sim_handle *handle = sim_handle_of(stream);
    handle->alloc_fn = alloc_fn;
    handle->read_fn = read_fn;
    handle->active = true;
    watch(handle, &handle->end->reader, on_readable);
    if (sim_readable(handle->end))
        sim_tell(&handle->end->reader);
    return 0;
}

int uv_read_stop(uv_stream_t *stream)
{
    sim_handle_of(stream)->active = false;
    return 0;
}

static struct pending_write *take_done(struct sim_handle *handle)
{
    struct pending_write *first = handle->writes;
    if (!first || (!handle->end->broken && handle->end->moved < first->until))
        return NULL;
    handle->writes = first->next;
    first->status = handle->end->broken && handle->end->moved < first->until ? UV_EPIPE : 0;
    return first;
}

static void on_writable(void *context)
{
    struct sim_handle *handle = context;
    struct pending_write *done;
    while (!handle->closing && (done = take_done(handle)))
        done->fn(done->request, done->status);
    if (handle->closing || !handle->shutdown || handle->writes)
        return;
    uv_shutdown_t *shutdown = handle->shutdown;
    handle->shutdown = NULL;
    sim_shut(handle->end);
    handle->shutdown_fn(shutdown, 0);
}

int uv_write(uv_write_t *request, uv_stream_t *stream, const uv_buf_t buffers[], unsigned count,
             uv_write_cb fn)
{
    struct sim_handle *handle = sim_handle_of(stream);
    if (handle->closing || !handle->end)
        return UV_EBADF;
    for (unsigned i = 0; i < count; i++)
        sim_write(handle->end, buffers[i].base, buffers[i].len);
    struct pending_write *write = sim_new(sizeof *write), **last = &handle->writes;
    *write = (struct pending_write){ request, fn, handle->end->given, 0, NULL };
    while (*last)
        last = &(*last)->next;
    *last = write;
    request->handle = stream;
    watch(handle, &handle->end->writer, on_writable);
    sim_tell(&handle->end->writer);
    return 0;
}

/* Nothing goes at once: the caller writes it later. */
int uv_try_write(uv_stream_t *stream, const uv_buf_t buffers[], unsigned count)
{
    (void)stream, (void)buffers, (void)count;
    return UV_EAGAIN;
}

int uv_shutdown(uv_shutdown_t *request, uv_stream_t *stream, uv_shutdown_cb fn)
{
    struct sim_handle *handle = sim_handle_of(stream);
    if (handle->closing || handle->shutdown)
        return UV_ENOTCONN;
    request->handle = stream;
    handle->shutdown = request;
    handle->shutdown_fn = fn;
    watch(handle, &handle->end->writer, on_writable);
    sim_tell(&handle->end->writer);
    return 0;
}

size_t uv_stream_get_write_queue_size(const uv_stream_t *stream)
{
    const struct sim_handle *handle = sim_handle_of(stream);
    return handle->end && !handle->end->broken ? handle->end->given - handle->end->moved : 0;
}

int uv_tcp_nodelay(uv_tcp_t *tcp, int enable)
{
    (void)tcp, (void)enable;
    return 0;
}

int uv_send_buffer_size(uv_handle_t *handle, int *value)
{
    (void)handle, (void)value;
    return 0;
}

int uv_fileno(const uv_handle_t *handle, uv_os_fd_t *fd)
{
    *fd = sim_handle_of(handle)->fd;
    return 0;
}

/* ---- closing ---- */

void sim_stream_cancel(struct sim_handle *handle)
{
    for (struct pending_write *at = handle->writes; at; at = at->next)
        at->fn(at->request, UV_ECANCELED);
    handle->writes = NULL;
    if (handle->shutdown)
        handle->shutdown_fn(handle->shutdown, UV_ECANCELED);
}

void sim_stream_let_go(struct sim_handle *handle)
{
    struct sim_end *end = handle->end;
    if (end && end->reader.context == handle)
        end->reader.process = NULL;
    if (end && end->writer.context == handle)
        end->writer.process = NULL;
    if (handle->fd >= 0)
        sim_descriptor_close(handle->fd);
}
