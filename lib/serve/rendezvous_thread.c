/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets for the rendezvous that a rank serves; see rendezvous_thread.h. */
#include "lib/serve/rendezvous_thread.h"

#include "lib/base/clock.h"
#include "lib/base/descriptor.h"
#include "lib/base/join_protocol.h"
#include "lib/base/quiet_thread.h"
#include "lib/base/tcp_attempts.h"
#include "lib/link/socket.h"
#include "lib/serve/rank_server.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    LEAVE_MS = 1000,
    RECEIVE_SIZE = 16384,
    ACCEPTS_AT_ONCE = 64,
    POLLED_FIRST = 32,
    PAUSE_MS = 100
};

struct rendezvous_thread {
    struct rank_server server;
    struct listener listener;
    int wake_fd;
    struct pollfd *polled; /* owned; the wake descriptor, the listener's, then the connections' */
    size_t capacity, count, nlisteners;
    uint64_t paused_until_ms; /* nothing is accepted until then */
    bool farewell;            /* has been said */
    pthread_mutex_t lock;     /* guards the members below */
    pthread_cond_t changed;
    bool leaving;    /* rank 0 leaves */
    bool told;       /* and all others have been told */
    bool over;       /* the thread has ended */
    bool left_alone; /* the caller does not wait: the thread frees */
};

static void rendezvous_thread_free(struct rendezvous_thread *thread)
{
    listener_close(&thread->listener);
    descriptor_close(thread->wake_fd);
    rank_server_fini(&thread->server);
    pthread_cond_destroy(&thread->changed);
    pthread_mutex_destroy(&thread->lock);
    free(thread->polled);
    free(thread);
}

/* ---- connections ---- */

static void serve_close(struct rank_server_connection *connection)
{
    int fd = connection->fd;
    rank_server_closed(connection, monotonic_ms());
    socket_close_gently(fd);
}

/* Sends as much as the other side takes. False if the connection has ended. */
static bool serve_send(struct rank_server_connection *connection)
{
    struct wire_writer *out = &connection->out;
    while (out->length > 0) {
        ssize_t sent = socket_send(connection->fd, out->data, out->length, NULL);
        if (sent < 0)
            return false;
        if (sent == 0)
            return true;
        out->length -= (size_t)sent;
        memmove(out->data, out->data + sent, out->length);
    }
    wire_writer_fini(out);
    return !connection->ending;
}

/* False if the connection has ended. */
static bool serve_receive(struct rank_server_connection *connection)
{
    char data[RECEIVE_SIZE];
    ssize_t nbytes = socket_receive(connection->fd, data, sizeof data, NULL);
    if (nbytes > 0)
        rank_server_receive(connection, data, (size_t)nbytes, monotonic_ms());
    return nbytes >= 0;
}

/* Where a connection waits that cannot be accepted, for want of descriptors or memory, it would
 * wake the thread again and again. */
static bool must_pause(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void serve_accept(struct rendezvous_thread *thread, int listener)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        int fd = descriptor_accept(listener);
        if (fd < 0 && must_pause(errno))
            thread->paused_until_ms = monotonic_ms() + PAUSE_MS;
        if (fd < 0)
            return;
        socket_tune(fd, JOIN_IDLE_S, TCP_ATTEMPTS);
        if (!rank_server_accept(&thread->server, fd, monotonic_ms()))
            descriptor_close(fd);
    }
}

/* ---- the loop ---- */

static bool serve_poll_add(struct rendezvous_thread *thread, int fd, short events)
{
    if (thread->count == thread->capacity) {
        size_t capacity = 2 * thread->capacity;
        void *larger = reallocarray(thread->polled, capacity, sizeof *thread->polled);
        if (!larger)
            return false;
        thread->polled = larger;
        thread->capacity = capacity;
    }
    thread->polled[thread->count++] = (struct pollfd){ .fd = fd, .events = events };
    return true;
}

/* Nothing is read any more from a connection that ends. */
static short serve_events(const struct rank_server_connection *connection)
{
    return (short)((connection->ending ? 0 : POLLIN) | (connection->out.length > 0 ? POLLOUT : 0));
}

/* Connections for which there is no memory wait for the next turn. */
static void serve_poll_all(struct rendezvous_thread *thread)
{
    struct rank_server_connection *at;
    short accepts = monotonic_ms() < thread->paused_until_ms ? 0 : POLLIN;
    thread->count = 0;
    (void)serve_poll_add(thread, thread->wake_fd, POLLIN);
    if (thread->listener.fd >= 0)
        (void)serve_poll_add(thread, thread->listener.fd, accepts);
    for (int i = 0; i < thread->listener.nothers; i++)
        (void)serve_poll_add(thread, thread->listener.others[i], accepts);
    thread->nlisteners = thread->count - 1;
    TAILQ_FOREACH(at, &thread->server.connections, link)
    if (!serve_poll_add(thread, at->fd, serve_events(at)))
        return;
}

static int serve_timeout(const struct rendezvous_thread *thread)
{
    uint64_t deadline_ms = rank_server_deadline(&thread->server), now_ms = monotonic_ms();
    if (now_ms < thread->paused_until_ms)
        deadline_ms = earlier(deadline_ms, thread->paused_until_ms);
    if (deadline_ms == MEMBERSHIP_NEVER)
        return -1;
    uint64_t left_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 0;
    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

/* Whether the program has closed the thread's descriptors. */
static bool has_lost_descriptors(const struct rendezvous_thread *thread)
{
    bool lost = false;
    for (size_t i = 0; i < thread->count; i++)
        lost |= (thread->polled[i].revents & POLLNVAL) != 0;
    return lost;
}

/* The polled connections are in the order of the list, in which new ones come last. */
static void serve_ready(struct rendezvous_thread *thread)
{
    size_t i = 1 + thread->nlisteners;
    struct rank_server_connection *at, *next;
    for (at = TAILQ_FIRST(&thread->server.connections); at && i < thread->count; at = next, i++) {
        next = TAILQ_NEXT(at, link);
        if (thread->polled[i].revents && !at->ending && !serve_receive(at))
            serve_close(at);
    }
    for (i = 1; i <= thread->nlisteners; i++)
        if (thread->polled[i].revents)
            serve_accept(thread, thread->polled[i].fd);
}

static void serve_send_all(struct rendezvous_thread *thread)
{
    struct rank_server_connection *at, *next;
    for (at = TAILQ_FIRST(&thread->server.connections); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (!serve_send(at))
            serve_close(at);
    }
}

static bool has_unsent(const struct rendezvous_thread *thread)
{
    const struct rank_server_connection *at;
    TAILQ_FOREACH(at, &thread->server.connections, link)
    if (at->out.length > 0)
        return true;
    return false;
}

static bool is_leaving(struct rendezvous_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    bool leaving = thread->leaving;
    pthread_mutex_unlock(&thread->lock);
    return leaving;
}

/* Nobody new can come any more. */
static void stop_listening(struct rendezvous_thread *thread)
{
    listener_close(&thread->listener);
    thread->listener = NO_LISTENER;
}

static void say_farewell(struct rendezvous_thread *thread)
{
    stop_listening(thread);
    rank_server_farewell(&thread->server);
    thread->farewell = true;
    serve_send_all(thread);
}

static void note_told(struct rendezvous_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    thread->told = true;
    pthread_cond_broadcast(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
}

/* After each turn: what follows when rank 0 leaves. True when all is over. */
static bool serve_leaving(struct rendezvous_thread *thread)
{
    if (!is_leaving(thread))
        return false;
    if (!thread->farewell && rank_server_is_left(&thread->server))
        say_farewell(thread);
    if (thread->farewell && !has_unsent(thread))
        note_told(thread);
    return thread->farewell && TAILQ_EMPTY(&thread->server.connections);
}

static void serve_until_over(struct rendezvous_thread *thread)
{
    eventfd_t value;
    do {
        serve_poll_all(thread);
        int count = poll(thread->polled, thread->count, serve_timeout(thread));
        if ((count < 0 && errno != EINTR) || has_lost_descriptors(thread))
            return;
        if (thread->polled[0].revents)
            (void)eventfd_read(thread->wake_fd, &value);
        serve_ready(thread);
        rank_server_tick(&thread->server, monotonic_ms());
        serve_send_all(thread);
        if (thread->server.placed)
            stop_listening(thread);
    } while (!serve_leaving(thread));
}

static void *serve_rendezvous(void *argument)
{
    struct rendezvous_thread *thread = argument;
    serve_until_over(thread);
    pthread_mutex_lock(&thread->lock);
    thread->over = thread->told = true;
    bool left_alone = thread->left_alone;
    pthread_cond_broadcast(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
    if (left_alone)
        rendezvous_thread_free(thread);
    return NULL;
}

/* ---- the caller's side ---- */

static void rendezvous_thread_init_lock(struct rendezvous_thread *thread)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&thread->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&thread->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

static int rendezvous_thread_run(struct rendezvous_thread *thread, struct err *err)
{
    pthread_t id;
    thread->polled = calloc(POLLED_FIRST, sizeof *thread->polled);
    thread->capacity = thread->polled ? POLLED_FIRST : 0;
    if (!thread->polled)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    thread->wake_fd = descriptor_event();
    int error = thread->wake_fd < 0
                    ? errno
                    : quiet_thread_start(&id, "hvd-rendezvous", serve_rendezvous, thread);
    if (error)
        return fail_errno(err, HVD_ERR_SYSTEM, error,
                          "start the thread that serves the rendezvous");
    pthread_detach(id);
    return HVD_OK;
}

struct rendezvous_thread *rendezvous_thread_start(struct listener *listener, int size,
                                                  const struct job_key *key,
                                                  uint64_t start_timeout_ms, struct err *err)
{
    struct rendezvous_thread *thread = calloc(1, sizeof *thread);
    if (!thread ||
        rank_server_init(&thread->server, "(unnamed)", size, key, start_timeout_ms, err) < 0) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        listener_close(listener);
        free(thread);
        return NULL;
    }
    thread->listener = *listener;
    *listener = NO_LISTENER;
    thread->wake_fd = -1;
    rendezvous_thread_init_lock(thread);
    if (rendezvous_thread_run(thread, err) == HVD_OK)
        return thread;
    rendezvous_thread_free(thread);
    return NULL;
}

void rendezvous_thread_leave(struct rendezvous_thread *thread)
{
    if (!thread)
        return;
    uint64_t until_ms = monotonic_ms() + LEAVE_MS;
    struct timespec until = { .tv_sec = (time_t)(until_ms / 1000),
                              .tv_nsec = (long)(until_ms % 1000) * 1000000 };
    int error = 0;
    pthread_mutex_lock(&thread->lock);
    thread->leaving = true;
    (void)eventfd_write(thread->wake_fd, 1);
    while (!thread->told && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&thread->changed, &thread->lock, &until);
    bool over = thread->over;
    thread->left_alone = !over;
    pthread_mutex_unlock(&thread->lock);
    if (over)
        rendezvous_thread_free(thread);
}
