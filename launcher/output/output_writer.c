/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that writes; see output_writer.h. Each sink has two buffers: the loop's thread appends
 * to `filling`, the writer's thread takes the whole buffer and writes it out. `lock` guards the
 * sinks' state that both threads use; an async handle tells the loop of progress. */
#include "launcher/output/output_writer.h"

#include "launcher/base/blocking_thread.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

struct output_sink {
    struct output_writer *writer;
    struct output_sink *next;
    char *name;
    int fd;
    bool owned;
    struct text_buffer filling;
    struct text_buffer flying; /* owned by the thread */
    int errnum;                /* the error that broke it, or 0 */
    size_t lost;               /* bytes that are pending until on_broken() has been called */
    bool reported;             /* on_broken() has been called */
};

struct output_writer {
    struct output_writer_events events;
    void *context;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct output_sink *sinks;
    atomic_bool stopped; /* the thread must end, or has ended */
    size_t pending;      /* bytes of all sinks that are not written yet */
    size_t queued;       /* all bytes ever queued */
    size_t due;          /* `queued` at the last output_writer_is_late() */
    uv_async_t async;
};

/* The next sink with bytes to write, which are then in `flying`. Called with the lock held. */
static struct output_sink *take_work(struct output_writer *writer)
{
    for (struct output_sink *sink = writer->sinks; sink; sink = sink->next) {
        if (sink->filling.length == 0)
            continue;
        struct text_buffer empty = sink->flying;
        sink->flying = sink->filling;
        sink->filling = empty;
        sink->filling.length = 0;
        return sink;
    }
    return NULL;
}

/* The size of one write, so that progress is seen while a reader is slow. */
enum { WRITE_CHUNK = 256 * 1024 };

/* Makes one write. Returns 0 and `*written`, or an errno. Also waits if another process that shares
 * the descriptor has made it non-blocking. */
static int write_some(struct output_sink *sink, const char *data, size_t length, size_t *written)
{
    for (;;) {
        ssize_t n = write(sink->fd, data, length < WRITE_CHUNK ? length : WRITE_CHUNK);
        if (n >= 0) {
            *written = (size_t)n;
            return 0;
        }
        if (atomic_load(&sink->writer->stopped))
            return ECANCELED;
        if (errno == EAGAIN) {
            struct pollfd room = { .fd = sink->fd, .events = POLLOUT };
            poll(&room, 1, -1);
        } else if (errno != EINTR) {
            return errno;
        }
    }
}

/* Accounts for `written` bytes. After an error, the other `left` bytes and the bytes queued
 * meanwhile are lost; they stay pending until the loop has been told. */
static void note_progress(struct output_sink *sink, size_t written, size_t left, int errnum)
{
    struct output_writer *writer = sink->writer;
    pthread_mutex_lock(&writer->lock);
    writer->pending -= written;
    if (errnum) {
        sink->lost = left + sink->filling.length;
        sink->filling.length = 0;
        sink->errnum = errnum;
    }
    pthread_mutex_unlock(&writer->lock);
    uv_async_send(&writer->async);
}

/* Writes all of `flying`. Called without the lock. */
static void write_out(struct output_sink *sink)
{
    const char *at = sink->flying.data;
    size_t left = sink->flying.length;
    for (int errnum = 0; left > 0 && !errnum;) {
        size_t written = 0;
        errnum = write_some(sink, at, left, &written);
        at += written;
        left -= written;
        note_progress(sink, written, left, errnum);
    }
}

/* Waits for work; NULL when the thread must stop. */
static struct output_sink *await_work(struct output_writer *writer)
{
    struct output_sink *sink = NULL;
    pthread_mutex_lock(&writer->lock);
    while (!atomic_load(&writer->stopped) && !(sink = take_work(writer)))
        pthread_cond_wait(&writer->work, &writer->lock);
    pthread_mutex_unlock(&writer->lock);
    return sink;
}

static void *output_writer_run(void *argument)
{
    for (struct output_sink *sink; (sink = await_work(argument));)
        write_out(sink);
    return NULL;
}

/* The lost bytes of a sink stop being pending once on_broken() has returned. */
static void report(struct output_sink *sink)
{
    struct output_writer *writer = sink->writer;
    pthread_mutex_lock(&writer->lock);
    int errnum = sink->errnum;
    pthread_mutex_unlock(&writer->lock);
    if (errnum == 0 || errnum == ECANCELED || sink->reported)
        return;
    sink->reported = true;
    writer->events.on_broken(writer->context, sink, errnum);
    pthread_mutex_lock(&writer->lock);
    writer->pending -= sink->lost;
    pthread_mutex_unlock(&writer->lock);
}

static void on_async(uv_async_t *async)
{
    struct output_writer *writer = async->data;
    for (struct output_sink *sink = writer->sinks; sink; sink = sink->next)
        report(sink);
    writer->events.on_progress(writer->context);
}

struct output_writer *output_writer_create(uv_loop_t *loop,
                                           const struct output_writer_events *events, void *context)
{
    struct output_writer *writer = xcalloc(1, sizeof *writer);
    writer->events = *events;
    writer->context = context;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->work, NULL);
    uv_must(uv_async_init(loop, &writer->async, on_async), "event loop");
    writer->async.data = writer;
    return writer;
}

struct output_sink *output_sink_add(struct output_writer *writer, int fd, const char *name,
                                    bool owned)
{
    struct output_sink *sink = xcalloc(1, sizeof *sink);
    sink->writer = writer;
    sink->fd = fd;
    sink->name = xstrdup(name);
    sink->owned = owned;
    pthread_mutex_lock(&writer->lock);
    sink->next = writer->sinks;
    writer->sinks = sink;
    pthread_mutex_unlock(&writer->lock);
    return sink;
}

void output_writer_start(struct output_writer *writer)
{
    if (writer->has_thread || atomic_load(&writer->stopped))
        return;
    writer->has_thread = true;
    uv_must(blocking_thread_start(&writer->thread, output_writer_run, writer), "thread");
}

void output_sink_write(struct output_sink *sink, const void *data, size_t length)
{
    struct output_writer *writer = sink->writer;
    output_writer_start(writer);
    pthread_mutex_lock(&writer->lock);
    if (sink->errnum == 0 && !atomic_load(&writer->stopped)) {
        text_buffer_put(&sink->filling, data, length);
        writer->pending += length;
        writer->queued += length;
    }
    pthread_cond_signal(&writer->work);
    pthread_mutex_unlock(&writer->lock);
}

const char *output_sink_name(const struct output_sink *sink)
{
    return sink->name;
}

size_t output_writer_pending(struct output_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    size_t pending = writer->pending;
    pthread_mutex_unlock(&writer->lock);
    return pending;
}

bool output_writer_is_late(struct output_writer *writer)
{
    pthread_mutex_lock(&writer->lock);
    bool late = writer->queued - writer->pending < writer->due;
    writer->due = writer->queued;
    pthread_mutex_unlock(&writer->lock);
    return late;
}

void output_writer_poke(struct output_writer *writer)
{
    uv_async_send(&writer->async);
}

static void on_async_closed(uv_handle_t *handle)
{
    struct output_writer *writer = handle->data;
    for (struct output_sink *next, *sink = writer->sinks; sink; sink = next) {
        next = sink->next;
        if (sink->owned)
            close(sink->fd);
        text_buffer_fini(&sink->filling);
        text_buffer_fini(&sink->flying);
        free(sink->name);
        free(sink);
    }
    pthread_mutex_destroy(&writer->lock);
    pthread_cond_destroy(&writer->work);
    free(writer);
}

static void stop_thread(struct output_writer *writer)
{
    if (atomic_exchange(&writer->stopped, true))
        return;
    pthread_mutex_lock(&writer->lock);
    pthread_cond_signal(&writer->work);
    pthread_mutex_unlock(&writer->lock);
    if (writer->has_thread)
        blocking_thread_stop(writer->thread);
    writer->pending = 0;
    for (struct output_sink *sink = writer->sinks; sink; sink = sink->next)
        sink->lost = 0;
}

void output_writer_drop(struct output_writer *writer)
{
    stop_thread(writer);
}

void output_writer_destroy(struct output_writer *writer)
{
    if (!writer)
        return;
    stop_thread(writer);
    uv_close((uv_handle_t *)&writer->async, on_async_closed);
}
