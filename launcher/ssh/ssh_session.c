/* SPDX-License-Identifier: Apache-2.0 */
/* libssh2 without blocking; see ssh_session.h. libssh2 calls on_ssh_session_send() and on_receive()
 * for all its bytes. A lost connection looks slow to libssh2 until all received bytes are used up;
 * then the operation is done. */
#include "launcher/ssh/ssh_session.h"

#include "launcher/base/bad_input.h"
#include "launcher/base/text_buffer.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "launcher/ssh/ssh_memory.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TURN_BYTES = 256 * 1024,  /* read at once, before others have their turn */
    NOISE_BYTES = 64 * 1024,  /* before the banner */
    UNSENT_BYTES = 256 * 1024 /* from a host that asks and does not read */
};

struct ssh_session {
    LIBSSH2_SESSION *ssh;
    LIBSSH2_CHANNEL *channel;
    struct ssh_memory memory;
    uv_poll_t poll;
    int fd, events;
    struct text_buffer unsent;
    ssh_try_fn *try;
    ssh_done_fn *done;
    void *context;
    size_t budget;
    uint64_t received;
    bool waits;      /* for something other than the socket */
    bool lost;       /* nothing more is received or sent */
    bool dismissed;  /* lost, with a message of the host */
    bool hung_up;    /* libssh2 has been told */
    bool in_line;    /* inside a line before the banner */
    bool has_said;   /* the first line is complete */
    char said[80];   /* the first line, as far as it fits; terminated */
    char cause[200]; /* the first cause of the loss */
};

static void set_cause(struct ssh_session *session, const char *why)
{
    if (!session->cause[0])
        snprintf(session->cause, sizeof session->cause, "%s", why);
}

static void lose(struct ssh_session *session, const char *why)
{
    set_cause(session, why);
    session->lost = true;
}

static const char *say_errno(int errnum)
{
    return uv_strerror(uv_translate_sys_error(errnum));
}

/* ---- callbacks of libssh2 ---- */

static void *on_ssh_session_alloc(size_t size, void **abstract)
{
    struct ssh_session *session = *abstract;
    return ssh_memory_get(&session->memory, size);
}

static void *on_realloc(void *data, size_t size, void **abstract)
{
    struct ssh_session *session = *abstract;
    return ssh_memory_resize(&session->memory, data, size);
}

static void on_free(void *data, void **abstract)
{
    struct ssh_session *session = *abstract;
    ssh_memory_put(&session->memory, data);
}

/* Returns the number of bytes that the socket accepts. A failed socket accepts all bytes, so that
 * libssh2 first delivers what has come; then the session is at its end. */
static size_t send_now(struct ssh_session *session, const void *data, size_t length)
{
    ssize_t n = send(session->fd, data, length, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
        return (size_t)n;
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    set_cause(session, say_errno(errno));
    shutdown(session->fd, SHUT_RDWR);
    return length;
}

static ssize_t on_ssh_session_send(libssh2_socket_t fd, const void *data, size_t length, int flags,
                                   void **abstract)
{
    struct ssh_session *session = *abstract;
    (void)fd, (void)flags;
    if (session->hung_up)
        return -EPIPE;
    if (session->lost) /* after a failure libssh2 would not deliver its buffered bytes */
        return (ssize_t)length;
    size_t n = session->unsent.length == 0 ? send_now(session, data, length) : 0;
    text_buffer_put(&session->unsent, (const char *)data + n, length - n);
    if (session->unsent.length > UNSENT_BYTES)
        lose(session, "the host does not read what it is sent");
    return (ssize_t)length;
}

/* sshd leaves Nagle's algorithm on: a small packet behind another one waits until the first is
 * acknowledged, which the kernel delays by 40 ms if there is nothing to send. */
static void acknowledge(int fd)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof one);
}

static ssize_t receive_now(struct ssh_session *session, void *data, size_t length)
{
    ssize_t n = recv(session->fd, data, length, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return -EAGAIN;
    if (n > 0) {
        session->budget -= (size_t)n;
        session->received += (size_t)n;
        if ((size_t)n < length)
            acknowledge(session->fd);
        return n;
    }
    if (n == 0)
        lose(session, "closed by the host");
    else
        lose(session, say_errno(errno));
    return -EAGAIN;
}

/* libssh2 reads the lines before the banner byte by byte, and gives up at an empty one. */
static bool is_empty_line(struct ssh_session *session, char byte)
{
    bool empty = !session->in_line && (byte == '\r' || byte == '\n');
    if (!empty)
        session->in_line = byte != '\n';
    return empty;
}

/* Keeps the first line, which tells what else the host is. */
static void note_line(struct ssh_session *session, char byte)
{
    size_t length = strlen(session->said);
    if (byte == '\n')
        session->has_said = true;
    else if (!session->has_said && byte != '\r' && byte != '\0' &&
             length + 1 < sizeof session->said)
        session->said[length] = byte;
}

/* Before the banner: must this byte be hidden from libssh2? */
static bool is_skipped(struct ssh_session *session, char byte)
{
    if (is_empty_line(session, byte))
        return true;
    note_line(session, byte);
    return false;
}

static ssize_t on_receive(libssh2_socket_t fd, void *data, size_t length, int flags,
                          void **abstract)
{
    struct ssh_session *session = *abstract;
    (void)fd, (void)flags;
    if (session->hung_up)
        return -ECONNRESET;
    ssize_t n;
    do {
        if (session->received > NOISE_BYTES && !ssh_session_has_banner(session))
            return -EPROTO;
        if (session->lost || session->budget == 0)
            return -EAGAIN;
        n = receive_now(session, data, length < session->budget ? length : session->budget);
    } while (n == 1 && !ssh_session_has_banner(session) && is_skipped(session, *(char *)data));
    return n;
}

static void on_disconnect(LIBSSH2_SESSION *ssh, int reason, const char *message, int length,
                          const char *language, int language_length, void **abstract)
{
    struct ssh_session *session = *abstract;
    struct shown shown;
    char text[160];
    (void)ssh, (void)reason, (void)language, (void)language_length;
    session->dismissed = true;
    show_token(&shown, message, length > 0 ? (size_t)length : 0);
    snprintf(text, sizeof text, "closed by the host, which says '%s'", shown.text);
    lose(session, text);
}

/* ---- the driver ---- */

static void on_ssh_session_poll(uv_poll_t *poll, int status, int events);

static void ssh_session_watch(struct ssh_session *session)
{
    int events = 0;
    if (session->try && !session->waits && !session->lost)
        events |= UV_READABLE;
    if (session->unsent.length > 0 && !session->lost)
        events |= UV_WRITABLE;
    if (events == session->events)
        return;
    session->events = events;
    if (events == 0)
        uv_poll_stop(&session->poll);
    else
        uv_must(uv_poll_start(&session->poll, events, on_ssh_session_poll), "socket");
}

/* Must be the last use of the session: done() may close it. */
static void attempt(struct ssh_session *session)
{
    session->budget = TURN_BYTES;
    int rc = session->try(session->context, session->ssh);
    session->waits = rc == SSH_WAIT;
    if (session->waits || (rc == LIBSSH2_ERROR_EAGAIN && !session->lost)) {
        ssh_session_watch(session);
        return;
    }
    ssh_done_fn *done = session->done;
    session->try = NULL;
    ssh_session_watch(session);
    done(session->context, rc == LIBSSH2_ERROR_EAGAIN ? LIBSSH2_ERROR_SOCKET_DISCONNECT : rc);
}

static void ssh_session_flush(struct ssh_session *session)
{
    text_buffer_consume(&session->unsent,
                        send_now(session, session->unsent.data, session->unsent.length));
}

static void on_ssh_session_poll(uv_poll_t *poll, int status, int events)
{
    struct ssh_session *session = poll->data;
    (void)events;
    if (status < 0)
        session->events = 0; /* libuv has stopped the poll; reading finds the cause */
    if (session->unsent.length > 0)
        ssh_session_flush(session);
    if (session->try)
        attempt(session);
    else
        ssh_session_watch(session);
}

void ssh_session_prepare(void)
{
    ssh_memory_serve_crypto();
    if (libssh2_init(0) != 0)
        xalloc_failed();
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, NULL); /* reads openssl.cnf */
}

static void set_callbacks(LIBSSH2_SESSION *ssh)
{
    union {
        LIBSSH2_SEND_FUNC((*send));
        LIBSSH2_RECV_FUNC((*receive));
        LIBSSH2_DISCONNECT_FUNC((*disconnect));
        void *pointer;
    } function; /* libssh2 takes all callbacks as one pointer type */
    function.send = on_ssh_session_send;
    libssh2_session_callback_set(ssh, LIBSSH2_CALLBACK_SEND, function.pointer);
    function.receive = on_receive;
    libssh2_session_callback_set(ssh, LIBSSH2_CALLBACK_RECV, function.pointer);
    function.disconnect = on_disconnect;
    libssh2_session_callback_set(ssh, LIBSSH2_CALLBACK_DISCONNECT, function.pointer);
}

struct ssh_session *ssh_session_create(uv_loop_t *loop, int fd)
{
    struct ssh_session *session = xcalloc(1, sizeof *session);
    session->fd = fd;
    session->ssh = libssh2_session_init_ex(on_ssh_session_alloc, on_free, on_realloc, session);
    if (!session->ssh)
        xalloc_failed();
    libssh2_session_set_blocking(session->ssh, 0);
    set_callbacks(session->ssh);
    uv_must(uv_poll_init(loop, &session->poll, fd), "socket");
    session->poll.data = session;
    return session;
}

void ssh_session_run(struct ssh_session *session, ssh_try_fn *try, ssh_done_fn *done, void *context)
{
    session->try = try;
    session->done = done;
    session->context = context;
    attempt(session);
}

void ssh_session_again(struct ssh_session *session)
{
    if (session->try)
        attempt(session);
}

void ssh_session_stop(struct ssh_session *session)
{
    session->try = NULL;
    ssh_session_watch(session);
}

void ssh_session_set_channel(struct ssh_session *session, LIBSSH2_CHANNEL *channel)
{
    session->channel = channel;
}

/* ---- the state of a session ---- */

void *ssh_session_allocate(struct ssh_session *session, size_t size)
{
    return ssh_memory_get(&session->memory, size);
}

LIBSSH2_SESSION *ssh_session_libssh2(const struct ssh_session *session)
{
    return session->ssh;
}

int ssh_session_socket(const struct ssh_session *session)
{
    return session->fd;
}

const char *ssh_session_lost(const struct ssh_session *session)
{
    return session->lost ? session->cause : NULL;
}

bool ssh_session_dismissed(const struct ssh_session *session)
{
    return session->dismissed;
}

const char *ssh_session_problem(const struct ssh_session *session)
{
    char *text = NULL;
    libssh2_session_last_error(session->ssh, &text, NULL, 0);
    return text;
}

/* libssh2 takes the latest line for a banner until there is one. */
bool ssh_session_has_banner(const struct ssh_session *session)
{
    const char *banner = libssh2_session_banner_get(session->ssh);
    return banner && strncmp(banner, "SSH-", 4) == 0;
}

const char *ssh_session_noise(const struct ssh_session *session)
{
    return session->said;
}

uint64_t ssh_session_received(const struct ssh_session *session)
{
    return session->received;
}

size_t ssh_session_unsent(const struct ssh_session *session)
{
    return session->unsent.length;
}

/* ---- the end ---- */

/* Tells the host that the end was intended. Sent only if that needs no waiting. */
static void say_goodbye(struct ssh_session *session)
{
    session->budget = 0;
    if (session->lost || session->unsent.length > 0 || session->try)
        return;
    if (session->channel)
        libssh2_channel_close(session->channel);
    libssh2_session_disconnect(session->ssh, "");
}

static void clean_up_libssh2(struct ssh_session *session)
{
    session->hung_up = true;
    if (session->try)
        session->try(session->context, session->ssh);
    if (session->channel)
        libssh2_channel_wait_eof(session->channel); /* completes a new exchange of keys */
    libssh2_session_free(session->ssh);
}

static void on_ssh_session_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void ssh_session_close(struct ssh_session *session)
{
    if (!session)
        return;
    say_goodbye(session);
    clean_up_libssh2(session);
    ssh_memory_fini(&session->memory);
    text_buffer_fini(&session->unsent);
    uv_close((uv_handle_t *)&session->poll, on_ssh_session_closed);
    close(session->fd);
}
