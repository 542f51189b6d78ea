/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that reads stdin; see stdin_reader.h.
 * The thread fills `chunk` and waits until the loop has taken it. `lock` guards everything below
 * it. */
#include "launcher/output/stdin_reader.h"

#include "launcher/base/blocking_thread.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STDIN_CHUNK = 32 * 1024, BACKGROUND_CHECK_MS = 200 };

struct stdin_reader {
    int fd;
    stdin_read_fn on_read;
    void *context;
    uv_async_t async;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    atomic_bool stopping;
    size_t wanted;
    bool is_terminal; /* when the reader was made */
    int errnum;       /* of the read error that is the end; 0 */
    bool full, ended; /* full: `chunk` holds `length` bytes for the loop, 0 of them at the end */
    size_t length;
    char chunk[STDIN_CHUNK];
};

static bool in_background(int fd)
{
    pid_t foreground = tcgetpgrp(fd); /* fails unless fd is our terminal */
    return foreground >= 0 && foreground != getpgrp();
}

/* Waits until the process is continued, or for a short time. */
static void wait_a_moment(struct stdin_reader *reader)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += BACKGROUND_CHECK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&reader->changed, &reader->lock, &until);
}

/* Called with the lock held. Polls, because no event tells of a shell's "fg". */
static void wait_for_foreground(struct stdin_reader *reader)
{
    while (!atomic_load(&reader->stopping) && in_background(reader->fd))
        wait_a_moment(reader);
}

/* Waits until bytes are wanted and returns their number; 0 when the thread must stop. */
static size_t wait_for_want(struct stdin_reader *reader)
{
    pthread_mutex_lock(&reader->lock);
    while (!atomic_load(&reader->stopping) && (reader->full || reader->wanted == 0))
        pthread_cond_wait(&reader->changed, &reader->lock);
    wait_for_foreground(reader);
    size_t wanted = reader->wanted < STDIN_CHUNK ? reader->wanted : STDIN_CHUNK;
    pthread_mutex_unlock(&reader->lock);
    return atomic_load(&reader->stopping) ? 0 : wanted;
}

/* The end by a read error; see stdin_reader_errnum(). */
static void note_read_error(struct stdin_reader *reader, int errnum)
{
    bool is_usual = errnum == EBADF || (errnum == EIO && reader->is_terminal);
    pthread_mutex_lock(&reader->lock);
    reader->errnum = is_usual ? 0 : errnum;
    pthread_mutex_unlock(&reader->lock);
}

/* When the process was stopped during a read and goes on in the background, the read is restarted,
 * and a terminal fails with EIO. True if that may be, or have been, the cause. */
static bool may_read_again(struct stdin_reader *reader, bool *last)
{
    if (*last)
        return false;
    *last = !in_background(reader->fd);
    pthread_mutex_lock(&reader->lock);
    wait_for_foreground(reader);
    pthread_mutex_unlock(&reader->lock);
    return true;
}

static ssize_t stdin_reader_read_some(struct stdin_reader *reader, size_t size)
{
    for (bool last = false;;) {
        ssize_t n = read(reader->fd, reader->chunk, size);
        if (n >= 0 || atomic_load(&reader->stopping))
            return n > 0 ? n : 0;
        if (errno == EAGAIN) { /* another process that shares the descriptor made it non-blocking */
            struct pollfd input = { .fd = reader->fd, .events = POLLIN };
            poll(&input, 1, -1);
        } else if (errno != EINTR && (errno != EIO || !may_read_again(reader, &last))) {
            note_read_error(reader, errno);
            return 0;
        }
    }
}

static void stdin_reader_hand_over(struct stdin_reader *reader, ssize_t length)
{
    pthread_mutex_lock(&reader->lock);
    reader->full = true;
    reader->length = (size_t)length;
    reader->wanted -= (size_t)length;
    pthread_mutex_unlock(&reader->lock);
    uv_async_send(&reader->async);
}

static void *stdin_reader_run(void *argument)
{
    struct stdin_reader *reader = argument;
    ssize_t n = 1;
    for (size_t wanted; n > 0 && (wanted = wait_for_want(reader)) > 0;) {
        n = stdin_reader_read_some(reader, wanted);
        stdin_reader_hand_over(reader, n);
    }
    return NULL;
}

static void on_async(uv_async_t *async)
{
    struct stdin_reader *reader = async->data;
    pthread_mutex_lock(&reader->lock);
    bool full = reader->full;
    pthread_mutex_unlock(&reader->lock);
    if (!full || reader->ended)
        return;
    reader->ended = reader->length == 0;
    reader->on_read(reader->context, reader->chunk, reader->length);
    pthread_mutex_lock(&reader->lock);
    reader->full = false;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

/* The condition uses the monotonic clock for its deadlines. */
static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void stdin_reader_free(struct stdin_reader *reader)
{
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->changed);
    free(reader);
}

/* The thread does nothing before bytes are wanted. */
struct stdin_reader *stdin_reader_create(uv_loop_t *loop, int fd, stdin_read_fn on_read,
                                         void *context, struct err *err)
{
    struct stdin_reader *reader = xcalloc(1, sizeof *reader);
    reader->fd = fd;
    reader->is_terminal = isatty(fd);
    reader->on_read = on_read;
    reader->context = context;
    pthread_mutex_init(&reader->lock, NULL);
    init_condition(&reader->changed);
    int rc = blocking_thread_start(&reader->thread, stdin_reader_run, reader);
    if (rc < 0) {
        stdin_reader_free(reader);
        fail(err, HVD_ERR_SYSTEM, "no thread: %s", uv_strerror(rc));
        return NULL;
    }
    uv_must(uv_async_init(loop, &reader->async, on_async), "event loop");
    reader->async.data = reader;
    return reader;
}

int stdin_reader_errnum(const struct stdin_reader *reader)
{
    return reader->errnum;
}

void stdin_reader_want(struct stdin_reader *reader, size_t nbytes)
{
    pthread_mutex_lock(&reader->lock);
    reader->wanted += nbytes;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

void stdin_reader_wake(struct stdin_reader *reader)
{
    stdin_reader_want(reader, 0);
}

static void on_async_closed(uv_handle_t *handle)
{
    stdin_reader_free(handle->data);
}

void stdin_reader_destroy(struct stdin_reader *reader)
{
    if (!reader)
        return;
    atomic_store(&reader->stopping, true);
    stdin_reader_wake(reader);
    blocking_thread_stop(reader->thread);
    uv_close((uv_handle_t *)&reader->async, on_async_closed);
}
