/* SPDX-License-Identifier: Apache-2.0 */
/* The listening side of launcher/protocol/agent_dial.h:
 *   accept -> HELLO -> CHALLENGE -> PROOF -> on_agent();  anything else, or DIAL_ANSWER_MS -> closed
 * Fails when no port can be had. When too many connections are open, each that waits takes the
 * place of the oldest that has had DIAL_TURN_MS and says nothing. When no descriptor is left,
 * nothing is accepted until the next tick. Limits count time in which this process ran. */
#include "launcher/connect/dial_listener.h"

#include "launcher/base/port.h"
#include "launcher/base/ran_time.h"
#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "lib/base/frame.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DIAL_BACKLOG = 1024, DIAL_TICK_MS = 500 };

/* hello -> proof -> gone */
struct dial_client {
    struct dial_listener *listener;
    struct dial_client *next;
    uv_poll_t poll;
    int fd;            /* -1 once it was handed over or closed */
    uint64_t since_ms; /* by ran_ms of the listener, which may be a tick behind */
    uint64_t turn_ms;  /* the same; begins again with CHALLENGE, which this process may send late */
    struct frame_reader reader;
    bool challenged, gone;
    struct dial_hello hello;
    unsigned char nonce[NONCE_SIZE]; /* ours */
};

struct dial_listener {
    uv_loop_t *loop;
    struct job_key key;
    int fd;
    uint16_t port;
    dial_agent_fn *on_agent;
    void *context;
    uv_poll_t poll;
    uv_timer_t tick; /* closes connections that are too slow, and accepts again */
    uint64_t ran_ms, checked_ms;
    struct dial_client *clients; /* the youngest first */
    int nclients;                /* that are not gone */
    int open_handles;            /* of the listener */
    bool closing;
};

static void on_dial_connection(uv_poll_t *poll, int status, int events);

/* ---- the end of a connection, and of the listener ---- */

static void dial_listener_release(struct dial_listener *listener)
{
    if (listener->open_handles > 0 || listener->clients)
        return;
    job_key_wipe(&listener->key);
    free(listener);
}

static void on_dial_client_closed(uv_handle_t *handle)
{
    struct dial_client *client = handle->data;
    struct dial_listener *listener = client->listener;
    for (struct dial_client **at = &listener->clients; *at; at = &(*at)->next)
        if (*at == client) {
            *at = client->next;
            break;
        }
    frame_reader_fini(&client->reader);
    free(client);
    if (listener->closing)
        dial_listener_release(listener);
}

/* Stops watching the descriptor before it is closed, or has another owner. */
static void dial_client_end(struct dial_client *client, bool close_fd)
{
    if (client->gone)
        return;
    struct dial_listener *listener = client->listener;
    client->gone = true;
    listener->nclients--;
    if (!listener->closing && !uv_is_active((uv_handle_t *)&listener->poll))
        uv_poll_start(&listener->poll, UV_READABLE, on_dial_connection);
    uv_close((uv_handle_t *)&client->poll, on_dial_client_closed);
    if (close_fd)
        close(client->fd);
    client->fd = -1;
}

static void on_dial_listener_handle_closed(uv_handle_t *handle)
{
    struct dial_listener *listener = handle->data;
    listener->open_handles--;
    dial_listener_release(listener);
}

void dial_listener_close(struct dial_listener *listener)
{
    if (!listener || listener->closing)
        return;
    listener->closing = true;
    for (struct dial_client *client = listener->clients; client; client = client->next)
        dial_client_end(client, true);
    uv_close((uv_handle_t *)&listener->poll, on_dial_listener_handle_closed);
    uv_close((uv_handle_t *)&listener->tick, on_dial_listener_handle_closed);
    close(listener->fd);
}

/* ---- the handshake ---- */

/* The socket's buffer is empty, so the few bytes fit. */
static bool send_challenge(struct dial_client *client)
{
    struct dial_challenge challenge;
    struct wire_writer frame = { 0 };
    nonce_generate(client->nonce);
    memcpy(challenge.nonce, client->nonce, NONCE_SIZE);
    dial_prove(challenge.proof, DIAL_HVDRUN, &client->listener->key, &client->hello, client->nonce);
    size_t begin = frame_begin(&frame, DIAL_CHALLENGE);
    dial_challenge_encode(&frame, &challenge);
    frame_end(&frame, begin);
    bool sent = !frame.failed && send(client->fd, frame.data, frame.length,
                                      MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)frame.length;
    wire_writer_fini(&frame);
    client->challenged = true;
    client->turn_ms = client->listener->ran_ms;
    return sent;
}

static bool check_proof(const struct dial_client *client, struct wire_reader *body)
{
    unsigned char given[PROOF_SIZE], expected[PROOF_SIZE];
    dial_prove(expected, DIAL_AGENT, &client->listener->key, &client->hello, client->nonce);
    return dial_proof_decode(given, body, NULL) == HVD_OK && auth_equal(given, expected);
}

/* An agent says nothing behind PROOF before hvdrun has spoken. */
static void take_agent(struct dial_client *client)
{
    struct dial_listener *listener = client->listener;
    int fd = client->fd;
    dial_client_end(client, false);
    listener->on_agent(listener->context, &client->hello, fd);
}

/* False if the connection must be closed. */
static bool take_dial_frame(struct dial_client *client, const struct frame *frame)
{
    struct wire_reader body;
    wire_reader_init(&body, frame->body, frame->length);
    if (!client->challenged && frame->type == DIAL_HELLO)
        return dial_hello_decode(&client->hello, &body, NULL) == HVD_OK && send_challenge(client);
    if (!client->challenged || frame->type != DIAL_PROOF || !check_proof(client, &body))
        return false;
    take_agent(client);
    return true;
}

/* Reads one frame after the other, and no byte behind the last: the next reader's. */
static bool read_dial_bytes(struct dial_client *client)
{
    struct frame frame;
    size_t room;
    unsigned char *space = frame_reader_space(&client->reader, &room);
    if (!space)
        return false;
    ssize_t n = recv(client->fd, space, room, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    if (n == 0)
        return false;
    frame_reader_commit(&client->reader, (size_t)n);
    int rc = 0;
    while (!client->gone && (rc = frame_reader_next(&client->reader, &frame, NULL)) > 0)
        if (!take_dial_frame(client, &frame))
            return false;
    return client->gone || rc == 0;
}

static void on_dial_readable(uv_poll_t *poll, int status, int events)
{
    struct dial_client *client = poll->data;
    (void)events;
    if (client->gone)
        return;
    if (status < 0 || !read_dial_bytes(client))
        dial_client_end(client, true);
}

static void add_client(struct dial_listener *listener, int fd)
{
    struct dial_client *client = xcalloc(1, sizeof *client);
    int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    client->listener = listener;
    client->fd = fd;
    client->since_ms = client->turn_ms = listener->ran_ms;
    frame_reader_init(&client->reader, DIAL_BODY_MAX);
    uv_must(uv_poll_init(listener->loop, &client->poll, fd), "connections");
    client->poll.data = client;
    client->next = listener->clients;
    listener->clients = client;
    listener->nclients++;
    uv_must(uv_poll_start(&client->poll, UV_READABLE, on_dial_readable), "connections");
}

static bool dial_client_is_silent(const struct dial_client *client)
{
    int unread = 0;
    return ioctl(client->fd, FIONREAD, &unread) == 0 && unread == 0;
}

/* The connection that gives its place to the next, or NULL. One whose bytes this process has not
 * read yet keeps its place: many agents come at once, and this process may be slow. */
static struct dial_client *oldest_client(const struct dial_listener *listener)
{
    struct dial_client *oldest = NULL;
    for (struct dial_client *client = listener->clients; client; client = client->next)
        if (!client->gone && listener->ran_ms - client->turn_ms >= DIAL_TURN_MS + DIAL_TICK_MS &&
            dial_client_is_silent(client))
            oldest = client;
    return oldest;
}

static void on_dial_connection(uv_poll_t *poll, int status, int events)
{
    struct dial_listener *listener = poll->data;
    (void)status;
    (void)events;
    for (;;) {
        struct dial_client *oldest = NULL;
        if (listener->nclients >= DIAL_CLIENTS_MAX && !(oldest = oldest_client(listener)))
            break;
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            add_client(listener, fd);
            if (oldest)
                dial_client_end(oldest, true);
            continue;
        }
        if (errno == EAGAIN)
            return;
        if (errno != EINTR && errno != ECONNABORTED)
            break;
    }
    uv_poll_stop(poll); /* until the next tick */
}

static void on_dial_tick(uv_timer_t *timer)
{
    struct dial_listener *listener = timer->data;
    listener->ran_ms += ran_time_check(&listener->checked_ms, DIAL_TICK_MS, uv_now(listener->loop));
    for (struct dial_client *client = listener->clients; client; client = client->next)
        if (listener->ran_ms - client->since_ms >= DIAL_ANSWER_MS)
            dial_client_end(client, true);
    if (!uv_is_active((uv_handle_t *)&listener->poll))
        uv_poll_start(&listener->poll, UV_READABLE, on_dial_connection);
}

/* ---- the beginning ---- */

/* A listening descriptor, or -1 and errno. A failed listen() leaves a socket that has a port.
 * Connections that have come by a port, earlier in this job or of a job before, do not occupy it: a
 * range may have few ports. */
static int dial_listen(int low, int high)
{
    int errnum = 0;
    for (int port = low; port <= high; port++) {
        int fd = port_bind((uint16_t)port, port != 0);
        if (fd >= 0 && listen(fd, DIAL_BACKLOG) == 0)
            return fd;
        errnum = errno;
        if (fd >= 0)
            close(fd);
        if (errnum != EADDRINUSE)
            break;
    }
    errno = errnum;
    return -1;
}

struct dial_listener *dial_listener_open(uv_loop_t *loop, const struct job_key *key, int low,
                                         int high, dial_agent_fn *on_agent, void *context,
                                         struct err *err)
{
    int fd = dial_listen(low, high);
    if (fd < 0) {
        fail_errno(err, HVD_ERR_SYSTEM, errno, "a port for the agents");
        return NULL;
    }
    struct dial_listener *listener = xcalloc(1, sizeof *listener);
    listener->loop = loop;
    listener->key = *key;
    listener->fd = fd;
    listener->checked_ms = uv_now(loop);
    listener->port = port_of_socket(fd);
    listener->on_agent = on_agent;
    listener->context = context;
    uv_must(uv_poll_init(loop, &listener->poll, fd), "connections");
    uv_must(uv_timer_init(loop, &listener->tick), "timers");
    listener->poll.data = listener->tick.data = listener;
    listener->open_handles = 2;
    uv_must(uv_poll_start(&listener->poll, UV_READABLE, on_dial_connection), "connections");
    uv_timer_start(&listener->tick, on_dial_tick, DIAL_TICK_MS, DIAL_TICK_MS);
    return listener;
}

uint16_t dial_listener_port(const struct dial_listener *listener)
{
    return listener->port;
}
