/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes between a channel and a descriptor; see ssh_pump.h. pump_try() is called again whenever
 * channel or descriptor is ready, and moves bytes until neither side makes progress. */
#include "launcher/ssh/ssh_pump.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PIECE = 32 * 1024, STDERR_PIECE = 4096, LAST_WORD_MS = 1000 };

/* Bytes that came from one side and wait for the other. */
struct piece {
    size_t begin, end;
    char data[PIECE];
};

struct ssh_pump {
    struct ssh_session *session;
    LIBSSH2_CHANNEL *channel;
    uv_poll_t poll;   /* of the descriptor */
    uv_timer_t timer; /* after the end of the channel: how long to wait for the exit status */
    int fd, events, open_handles;
    struct piece up, down; /* to the host, and from it */
    bool up_ended;         /* the descriptor has reached its end */
    bool down_ended;       /* the descriptor accepts no more bytes */
    bool said_end;         /* the host was told of the end */
    bool last_word, timer_runs;
    struct ssh_pump_events call;
    void *context;
};

static size_t held(const struct piece *piece)
{
    return piece->end - piece->begin;
}

/* ---- from the host ---- */

static int read_channel(struct ssh_pump *pump)
{
    ssize_t n = libssh2_channel_read(pump->channel, pump->down.data, PIECE);
    pump->down.begin = 0;
    pump->down.end = n > 0 ? (size_t)n : 0;
    return n < 0 && n != LIBSSH2_ERROR_EAGAIN ? (int)n : 0;
}

/* True if some bytes were written. */
static bool write_descriptor(struct ssh_pump *pump)
{
    struct piece *down = &pump->down;
    ssize_t n = (ssize_t)held(down);
    if (!pump->down_ended)
        n = send(pump->fd, down->data + down->begin, held(down), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        pump->down_ended = true;
        n = (ssize_t)held(down);
    }
    if (n > 0)
        down->begin += (size_t)n;
    return n > 0;
}

/* 1: bytes were moved; 0: no progress is possible; or an error of libssh2. */
static int move_down(struct ssh_pump *pump)
{
    int rc = 0;
    if (held(&pump->down) == 0)
        rc = read_channel(pump);
    else /* receives window adjustments for the other direction, and the end */
        libssh2_channel_wait_eof(pump->channel);
    if (rc < 0)
        return rc;
    return held(&pump->down) > 0 && write_descriptor(pump);
}

static int move_stderr(struct ssh_pump *pump)
{
    char data[STDERR_PIECE];
    ssize_t n = libssh2_channel_read_stderr(pump->channel, data, sizeof data);
    if (n > 0)
        pump->call.on_stderr(pump->context, data, (size_t)n);
    return n > 0;
}

/* ---- to the host ---- */

static void read_descriptor(struct ssh_pump *pump)
{
    ssize_t n = recv(pump->fd, pump->up.data, PIECE, MSG_DONTWAIT);
    pump->up.begin = 0;
    pump->up.end = n > 0 ? (size_t)n : 0;
    pump->up_ended = n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static int write_channel(struct ssh_pump *pump)
{
    struct piece *up = &pump->up;
    ssize_t n = libssh2_channel_write(pump->channel, up->data + up->begin, held(up));
    if (n > 0)
        up->begin += (size_t)n;
    return n > 0 || n == LIBSSH2_ERROR_EAGAIN ? n > 0 : (int)n;
}

static int ssh_pump_say_end(struct ssh_pump *pump)
{
    int rc = libssh2_channel_send_eof(pump->channel);
    pump->said_end = rc == 0;
    return rc == LIBSSH2_ERROR_EAGAIN ? 0 : rc;
}

/* As move_down(). */
static int move_up(struct ssh_pump *pump)
{
    if (ssh_session_unsent(pump->session) > 0 || ssh_session_lost(pump->session))
        return 0;
    if (held(&pump->up) == 0 && !pump->up_ended)
        read_descriptor(pump);
    if (held(&pump->up) > 0)
        return write_channel(pump);
    return pump->up_ended && !pump->said_end ? ssh_pump_say_end(pump) : 0;
}

/* ---- iterations ---- */

static void on_ssh_pump_poll(uv_poll_t *poll, int status, int events)
{
    struct ssh_pump *pump = poll->data;
    (void)events;
    if (status < 0)
        pump->events = 0;
    ssh_session_again(pump->session);
}

static void watch_descriptor(struct ssh_pump *pump)
{
    int events = 0;
    if (held(&pump->up) == 0 && !pump->up_ended && ssh_session_unsent(pump->session) == 0)
        events |= UV_READABLE;
    if (held(&pump->down) > 0)
        events |= UV_WRITABLE;
    if (events == pump->events)
        return;
    pump->events = events;
    if (events == 0)
        uv_poll_stop(&pump->poll);
    else
        uv_must(uv_poll_start(&pump->poll, events, on_ssh_pump_poll), "socket");
}

/* Repeats until no bytes were moved and none have come. */
static int move_all(struct ssh_pump *pump)
{
    int down, up, said;
    uint64_t received;
    do {
        received = ssh_session_received(pump->session);
        down = move_down(pump);
        up = move_up(pump);
        said = move_stderr(pump);
    } while (down >= 0 && up >= 0 &&
             (down + up + said > 0 || ssh_session_received(pump->session) != received));
    return down < 0 ? down : up < 0 ? up : 0;
}

static void on_ssh_pump_timer(uv_timer_t *timer)
{
    struct ssh_pump *pump = timer->data;
    pump->last_word = true;
    ssh_session_again(pump->session);
}

/* The exit status of the program comes after the end of its output. */
static int wait_for_status(struct ssh_pump *pump)
{
    int rc = libssh2_channel_wait_closed(pump->channel);
    if (rc != LIBSSH2_ERROR_EAGAIN || pump->last_word)
        return 0;
    if (!pump->timer_runs)
        uv_timer_start(&pump->timer, on_ssh_pump_timer, LAST_WORD_MS, 0);
    pump->timer_runs = true;
    return LIBSSH2_ERROR_EAGAIN;
}

static int pump_try(void *context, LIBSSH2_SESSION *ssh)
{
    struct ssh_pump *pump = context;
    (void)ssh;
    int rc = move_all(pump);
    if (held(&pump->down) == 0 && rc < 0)
        return rc;
    watch_descriptor(pump);
    if (held(&pump->down) > 0) /* pass these on before anything ends */
        return ssh_session_lost(pump->session) ? SSH_WAIT : LIBSSH2_ERROR_EAGAIN;
    if (libssh2_channel_eof(pump->channel) == 1)
        return wait_for_status(pump);
    return LIBSSH2_ERROR_EAGAIN;
}

/* ---- the end ---- */

/* The exit status or signal of the program, as far as the host has sent it. */
static void describe_status(struct ssh_pump *pump, char *text, size_t size)
{
    char *signal = NULL;
    int status = libssh2_channel_get_exit_status(pump->channel);
    libssh2_channel_get_exit_signal(pump->channel, &signal, NULL, NULL, NULL, NULL, NULL);
    text[0] = '\0';
    if (signal)
        snprintf(text, size, "the remote command was killed by SIG%.20s", signal);
    else if (status != 0)
        snprintf(text, size, "exit status %d", status);
    libssh2_free(ssh_session_libssh2(pump->session), signal);
}

static void on_ssh_pump_closed(uv_handle_t *handle)
{
    struct ssh_pump *pump = handle->data;
    if (--pump->open_handles == 0)
        free(pump);
}

/* Takes the descriptor out of the loop for good, before it is closed: later its number may belong
 * to another handle, which would hear nothing any more if this poll was closed then. */
static int ssh_pump_take_descriptor(struct ssh_pump *pump)
{
    int fd = pump->fd;
    pump->fd = -1;
    if (fd >= 0)
        uv_close((uv_handle_t *)&pump->poll, on_ssh_pump_closed);
    return fd;
}

static void on_ssh_pump_done(void *context, int rc)
{
    struct ssh_pump *pump = context;
    char text[200];
    const char *lost = ssh_session_lost(pump->session);
    bool ended = libssh2_channel_eof(pump->channel) == 1;
    if (lost && !ended)
        snprintf(text, sizeof text, "%s", lost);
    else if (rc < 0 && !ended)
        snprintf(text, sizeof text, "%s", ssh_session_problem(pump->session));
    else
        describe_status(pump, text, sizeof text);
    int fd = ssh_pump_take_descriptor(pump);
    pump->call.on_end(pump->context, text, !ended); /* may close the pump */
    close(fd);
}

void ssh_pump_close(struct ssh_pump *pump)
{
    if (!pump)
        return;
    int fd = ssh_pump_take_descriptor(pump);
    ssh_session_stop(pump->session);
    uv_close((uv_handle_t *)&pump->timer, on_ssh_pump_closed);
    if (fd >= 0)
        close(fd);
}

struct ssh_pump *ssh_pump_start(uv_loop_t *loop, struct ssh_session *session,
                                LIBSSH2_CHANNEL *channel, int fd,
                                const struct ssh_pump_events *events, void *context)
{
    struct ssh_pump *pump = xcalloc(1, sizeof *pump);
    pump->session = session;
    pump->channel = channel;
    pump->fd = fd;
    pump->call = *events;
    pump->context = context;
    uv_must(uv_poll_init(loop, &pump->poll, fd), "socket");
    uv_must(uv_timer_init(loop, &pump->timer), "timer");
    pump->poll.data = pump->timer.data = pump;
    pump->open_handles = 2;
    ssh_session_run(session, pump_try, on_ssh_pump_done, pump);
    return pump;
}
