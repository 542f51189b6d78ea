/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting; see ssh_dial.h. Each address has a socket and a uv_poll; the first socket that
 * becomes writable wins. Fails when every address has failed: refused, unreachable, reset. */
#include "launcher/ssh/ssh_dial.h"

#include "launcher/base/uv_must.h"
#include "launcher/base/xalloc.h"
#include "lib/base/tcp_attempts.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The kernel tries again after 0.2, 0.6, 1.4 and 3.0 s, and gives up at TCP_USER_TIMEOUT without
 * another try: with three seconds, an outage of two would be the end. */
enum { ADDRESSES = 8, NEXT_MS = 250, LAST_TRY_MS = 600 };

/* A connection is idle only while hvdrun sends no heartbeats, for instance while it is stopped. */
enum { PROBE_IDLE_S = 1 };

/* idle -> trying -> failed */
enum try_state { TRY_IDLE, TRY_TRYING, TRY_FAILED };

struct address_try {
    struct ssh_dial *dial;
    uv_poll_t poll;
    int fd, error;
    enum try_state state;
    bool has_poll;
    struct sockaddr_storage address;
    socklen_t length;
};

struct ssh_dial {
    uv_loop_t *loop;
    uv_timer_t timer; /* until the next address is tried */
    struct address_try tries[ADDRESSES];
    int count, begun, open_handles;
    uint32_t heartbeat_timeout_ms;
    ssh_dial_fn *on_end;
    void *context;
};

int ssh_dial_again_ms(enum ssh_turned_away how, int attempt, uint32_t random)
{
    static const uint16_t longest_ms[][3] = {
        [SSH_REFUSED] = { 100, 250, 500 }, /* a server that is being restarted; soon up again */
        [SSH_CLOSED] = { 500, 1500, 3500 } /* MaxStartups: logins of others must end first */
    };
    if (attempt < 1 || attempt > 3)
        return -1;
    uint32_t longest = longest_ms[how][attempt - 1];
    return (int)(longest / 4 + random % (longest - longest / 4));
}

/* ---- texts ---- */

static size_t put_name(const struct address_try *try, char *text, size_t size)
{
    char host[INET6_ADDRSTRLEN + 16], port[8];
    if (getnameinfo((const struct sockaddr *)&try->address, try->length, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return 0;
    return (size_t)snprintf(text, size, "%s port %s", host, port);
}

static size_t put_try(const struct address_try *try, char *text, size_t size)
{
    size_t used = put_name(try, text, size);
    if (try->state == TRY_FAILED && used < size)
        used += (size_t)snprintf(text + used, size - used, ": %s",
                                 uv_strerror(uv_translate_sys_error(try->error)));
    return used;
}

void ssh_dial_describe(const struct ssh_dial *dial, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < dial->begun && used < size; i++) {
        if (i > 0)
            used += (size_t)snprintf(text + used, size - used, ", ");
        if (used < size)
            used += put_try(&dial->tries[i], text + used, size - used);
    }
}

/* ---- the end ---- */

static void on_ssh_dial_closed(uv_handle_t *handle)
{
    struct ssh_dial *dial = handle->data;
    if (--dial->open_handles == 0)
        free(dial);
}

static void on_poll_closed(uv_handle_t *handle)
{
    struct address_try *try = handle->data;
    handle->data = try->dial;
    on_ssh_dial_closed(handle);
}

static void let_go(struct address_try *try)
{
    if (try->has_poll)
        uv_close((uv_handle_t *)&try->poll, on_poll_closed);
    try->has_poll = false;
    if (try->fd >= 0)
        close(try->fd);
    try->fd = -1;
}

void ssh_dial_cancel(struct ssh_dial *dial)
{
    if (!dial)
        return;
    for (int i = 0; i < dial->begun; i++)
        let_go(&dial->tries[i]);
    uv_close((uv_handle_t *)&dial->timer, on_ssh_dial_closed);
}

static bool all_refused(const struct ssh_dial *dial)
{
    for (int i = 0; i < dial->count; i++)
        if (dial->tries[i].error != ECONNREFUSED && dial->tries[i].error != ECONNRESET)
            return false;
    return true;
}

static void ssh_dial_give_up(struct ssh_dial *dial)
{
    char text[300];
    ssh_dial_describe(dial, text, sizeof text);
    struct ssh_dialled dialled = { .fd = -1, .text = text, .refused = all_refused(dial) };
    ssh_dial_cancel(dial);
    dial->on_end(dial->context, &dialled);
}

/* Heartbeats decide whether a host is lost; TCP must not do so earlier. It must also try at least
 * every second: if its first wait is 0.27 s, as on a busy host, and each one twice the one before,
 * the try after an outage of two seconds comes when the usual --heartbeat-timeout has passed. */
static void ssh_dial_set_options(int fd, uint32_t heartbeat_timeout_ms)
{
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    tcp_limit_wait(fd, PROBE_IDLE_S, heartbeat_timeout_ms + LAST_TRY_MS);
}

static void win(struct address_try *try)
{
    struct ssh_dial *dial = try->dial;
    char text[100];
    put_name(try, text, sizeof text);
    struct ssh_dialled dialled = { .fd = try->fd, .text = text };
    try->fd = -1;
    ssh_dial_set_options(dialled.fd, dial->heartbeat_timeout_ms);
    ssh_dial_cancel(dial);
    dial->on_end(dial->context, &dialled);
}

/* ---- trying ---- */

static void begin_next(struct ssh_dial *dial);

static void on_ssh_dial_poll(uv_poll_t *poll, int status, int events)
{
    struct address_try *try = poll->data;
    socklen_t length = sizeof try->error;
    (void)status, (void)events;
    if (getsockopt(try->fd, SOL_SOCKET, SO_ERROR, &try->error, &length) < 0)
        try->error = errno;
    if (try->error == 0) {
        win(try);
        return;
    }
    try->state = TRY_FAILED;
    let_go(try);
    begin_next(try->dial);
}

/* False, with the cause in try->error, if it has failed already. */
static bool ssh_dial_begin(struct address_try *try)
{
    struct ssh_dial *dial = try->dial;
    try->state = TRY_FAILED;
    try->fd = socket(try->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (try->fd < 0 || (connect(try->fd, (struct sockaddr *)&try->address, try->length) < 0 &&
                        errno != EINPROGRESS)) {
        try->error = errno;
        return false;
    }
    uv_must(uv_poll_init(dial->loop, &try->poll, try->fd), "socket");
    try->poll.data = try;
    try->has_poll = true;
    dial->open_handles++;
    uv_must(uv_poll_start(&try->poll, UV_WRITABLE, on_ssh_dial_poll), "socket");
    try->state = TRY_TRYING;
    return true;
}

static bool any_trying(const struct ssh_dial *dial)
{
    for (int i = 0; i < dial->begun; i++)
        if (dial->tries[i].state == TRY_TRYING)
            return true;
    return false;
}

static void on_ssh_dial_timer(uv_timer_t *timer)
{
    begin_next(timer->data);
}

static void begin_next(struct ssh_dial *dial)
{
    while (dial->begun < dial->count)
        if (ssh_dial_begin(&dial->tries[dial->begun++]))
            break;
    if (!any_trying(dial))
        ssh_dial_give_up(dial);
    else if (dial->begun < dial->count)
        uv_timer_start(&dial->timer, on_ssh_dial_timer, NEXT_MS, 0);
}

struct ssh_dial *ssh_dial_start(uv_loop_t *loop, const struct addrinfo *addresses,
                                uint32_t heartbeat_timeout_ms, ssh_dial_fn *on_end, void *context)
{
    struct ssh_dial *dial = xcalloc(1, sizeof *dial);
    dial->loop = loop;
    dial->heartbeat_timeout_ms = heartbeat_timeout_ms;
    dial->on_end = on_end;
    dial->context = context;
    for (; addresses && dial->count < ADDRESSES; addresses = addresses->ai_next) {
        struct address_try *try = &dial->tries[dial->count++];
        try->dial = dial;
        try->fd = -1;
        try->length = addresses->ai_addrlen;
        memcpy(&try->address, addresses->ai_addr, addresses->ai_addrlen);
    }
    uv_must(uv_timer_init(loop, &dial->timer), "timer");
    dial->timer.data = dial;
    dial->open_handles = 1;
    uv_timer_start(&dial->timer, on_ssh_dial_timer, 0, 0);
    return dial;
}
