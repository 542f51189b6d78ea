/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that reads stdin; see stdin_reader.h.
 * The thread fills `chunk` and waits until the loop has taken it. `lock` guards everything below
 * it. */
#include "launcher/stdin_reader.h"

#include "launcher/xalloc.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { STDIN_CHUNK = 32 * 1024 };

struct stdin_reader {
    int fd;
    stdin_read_fn on_read;
    void *context;
    uv_async_t async;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t wanted;
    bool full, ended; /* full: `chunk` holds `length` bytes for the loop, 0 of them at the end */
    size_t length;
    char chunk[STDIN_CHUNK];
};

static bool in_background(int fd)
{
    pid_t foreground = tcgetpgrp(fd); /* fails unless it is our terminal */
    return foreground >= 0 && foreground != getpgrp();
}

static void unlock(void *lock)
{
    pthread_mutex_unlock(lock);
}

/* Waits until something may be read and returns how much. */
static size_t wait_for_want(struct stdin_reader *reader)
{
    size_t wanted;
    pthread_mutex_lock(&reader->lock);
    pthread_cleanup_push(unlock, &reader->lock);
    while (reader->full || reader->wanted == 0 || in_background(reader->fd))
        pthread_cond_wait(&reader->changed, &reader->lock);
    wanted = reader->wanted;
    pthread_cleanup_pop(1);
    return wanted < STDIN_CHUNK ? wanted : STDIN_CHUNK;
}

static ssize_t read_some(struct stdin_reader *reader, size_t size)
{
    for (;;) {
        ssize_t n = read(reader->fd, reader->chunk, size);
        if (n >= 0)
            return n;
        if (errno == EAGAIN) { /* somebody who shares it made it non-blocking */
            struct pollfd input = { .fd = reader->fd, .events = POLLIN };
            poll(&input, 1, -1);
        } else if (errno != EINTR) {
            return 0;
        }
    }
}

static void *run(void *argument)
{
    struct stdin_reader *reader = argument;
    ssize_t n;
    do {
        n = read_some(reader, wait_for_want(reader));
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
        pthread_mutex_lock(&reader->lock);
        reader->full = true;
        reader->length = (size_t)n;
        reader->wanted -= (size_t)n;
        pthread_mutex_unlock(&reader->lock);
        uv_async_send(&reader->async);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    } while (n > 0);
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

struct stdin_reader *stdin_reader_create(uv_loop_t *loop, int fd, stdin_read_fn on_read,
                                         void *context)
{
    struct stdin_reader *reader = xcalloc(1, sizeof *reader);
    reader->fd = fd;
    reader->on_read = on_read;
    reader->context = context;
    pthread_mutex_init(&reader->lock, NULL);
    pthread_cond_init(&reader->changed, NULL);
    uv_async_init(loop, &reader->async, on_async);
    reader->async.data = reader;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_create(&reader->thread, NULL, run, reader) != 0)
        xalloc_failed();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return reader;
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
    struct stdin_reader *reader = handle->data;
    pthread_mutex_destroy(&reader->lock);
    pthread_cond_destroy(&reader->changed);
    free(reader);
}

void stdin_reader_destroy(struct stdin_reader *reader)
{
    if (!reader)
        return;
    pthread_cancel(reader->thread);
    pthread_join(reader->thread, NULL);
    uv_close((uv_handle_t *)&reader->async, on_async_closed);
}
