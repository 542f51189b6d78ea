/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting links; see link_accept.h. */
#include "lib/link/link_accept.h"

#include "lib/base/descriptor.h"
#include "lib/link/network.h"
#include "lib/link/socket.h"

#include <errno.h>
#include <string.h>

enum { UNAUTHENTICATED_MS = 2000, PAUSE_MS = 100, BATCH = PENDING_MAX / 2 };

void link_accept_init(struct link_accept *accept, int listener,
                      struct rank_credentials *credentials, link_accepted_fn *on_accepted,
                      void *context)
{
    accept->listener = listener;
    accept->others = NULL;
    accept->nothers = 0;
    accept->unix_listener = -1;
    accept->transport = TRANSPORT_AUTO;
    accept->terms = (struct link_terms){ .encryption = ENCRYPTION_OFF };
    accept->network = NULL;
    accept->credentials = credentials;
    accept->on_accepted = on_accepted;
    accept->context = context;
    accept->count = accept->error = 0;
    accept->paused_until_ms = 0;
}

static void link_accept_forget(struct link_accept *accept, int index)
{
    accept->count--;
    memmove(&accept->pending[index], &accept->pending[index + 1],
            (size_t)(accept->count - index) * sizeof accept->pending[0]);
    link_handshake_wipe(&accept->pending[accept->count].connection.handshake);
}

static void link_accept_drop(struct link_accept *accept, int index)
{
    link_connection_close(&accept->pending[index].connection);
    link_accept_forget(accept, index);
}

void link_accept_fini(struct link_accept *accept)
{
    while (accept->count > 0)
        link_accept_drop(accept, accept->count - 1);
}

static void earlier(uint64_t *until_ms, uint64_t at_ms)
{
    if (at_ms < *until_ms)
        *until_ms = at_ms;
}

struct poll_list {
    struct pollfd *fds;
    int count, capacity;
};

static void wait_for(struct poll_list *list, int fd, short events)
{
    if (list->count < list->capacity)
        list->fds[list->count] = (struct pollfd){ .fd = fd, .events = events };
    list->count++;
}

int link_accept_pollfds(const struct link_accept *accept, struct pollfd *fds, int capacity,
                        uint64_t *until_ms)
{
    struct poll_list list = { .fds = fds, .capacity = capacity };
    bool paused = accept->paused_until_ms > 0;
    if (paused)
        earlier(until_ms, accept->paused_until_ms);
    if (accept->listener >= 0)
        wait_for(&list, paused ? -1 : accept->listener, POLLIN);
    for (int i = 0; i < accept->nothers; i++)
        wait_for(&list, paused ? -1 : accept->others[i], POLLIN);
    if (accept->unix_listener >= 0)
        wait_for(&list, paused ? -1 : accept->unix_listener, POLLIN);
    for (int i = 0; i < accept->count; i++) {
        const struct link_pending *pending = &accept->pending[i];
        earlier(until_ms, pending->until_ms);
        wait_for(&list, pending->connection.fd, link_connection_events(&pending->connection));
    }
    return list.count;
}

static int oldest_silent(const struct link_accept *accept)
{
    for (int i = 0; i < accept->count; i++)
        if (accept->pending[i].connection.handshake.awaits == AWAITS_HELLO)
            return i;
    return -1;
}

bool link_accept_shed(struct link_accept *accept)
{
    int index = oldest_silent(accept);
    if (index < 0)
        return false;
    link_accept_drop(accept, index);
    return true;
}

/* The oldest connection that has not proved itself; if all have, the oldest. */
static int least_welcome(const struct link_accept *accept)
{
    for (int i = 0; i < accept->count; i++)
        if (!accept->pending[i].connection.proved)
            return i;
    return 0;
}

static void link_accept_add(struct link_accept *accept, int fd, uint64_t now_ms)
{
    if (accept->count == PENDING_MAX && !link_accept_shed(accept))
        link_accept_drop(accept, least_welcome(accept));
    struct link_pending *pending = &accept->pending[accept->count++];
    pending->until_ms = now_ms + UNAUTHENTICATED_MS;
    link_connection_accept(&pending->connection, fd, accept->transport, &accept->terms,
                           accept->credentials);
}

static void link_accept_hand_over(struct link_accept *accept, int index)
{
    struct link_connection connection = accept->pending[index].connection;
    struct link_identity identity = connection.handshake.identity;
    link_accept_forget(accept, index);
    accept->on_accepted(accept->context, &identity, &connection);
}

/* Reads from every pending connection. A mistake of an unauthenticated peer closes only its own. */
static void link_accept_hear(struct link_accept *accept, uint64_t now_ms)
{
    for (int i = 0; i < accept->count;) {
        struct link_pending *pending = &accept->pending[i];
        int rc = link_connection_move(&pending->connection, NULL);
        if (pending->connection.proved)
            pending->until_ms = UINT64_MAX;
        if (rc > 0)
            link_accept_hand_over(accept, i);
        else if (rc < 0 || now_ms >= pending->until_ms)
            link_accept_drop(accept, i);
        else
            i++;
    }
}

static bool somebody_knocks(int listener)
{
    struct pollfd knock = { .fd = listener, .events = POLLIN };
    return poll(&knock, 1, 0) > 0;
}

/* No descriptor is left; accept() also reports this when nobody waits. The pending connections are
 * read before one is dropped. Returns like admit(). */
static int link_accept_make_room(struct link_accept *accept, int listener, uint64_t now_ms,
                                 int error)
{
    if (!somebody_knocks(listener))
        return 0;
    link_accept_hear(accept, now_ms);
    if (link_accept_shed(accept))
        return 1;
    accept->error = error;
    accept->paused_until_ms = now_ms + PAUSE_MS;
    return 0;
}

static bool is_for_us(const struct link_accept *accept, int listener, int fd)
{
    struct socket_address address;
    if (listener == accept->unix_listener)
        return socket_check_user(fd, NULL) == HVD_OK;
    return !accept->network || !socket_local_address(fd, &address) ||
           network_admits(accept->network, &address.storage);
}

/* Accepts one connection: 1, 0 if there is none, or HVD_ERR_SYSTEM. */
static int admit(struct link_accept *accept, int listener, uint64_t now_ms, struct err *err)
{
    int fd = descriptor_accept(listener);
    if (fd >= 0) {
        accept->shut_ms = now_ms;
        if (is_for_us(accept, listener, fd))
            link_accept_add(accept, fd, now_ms);
        else
            descriptor_close(fd);
        return 1;
    }
    int error = errno;
    switch (error) {
    case EAGAIN:
        return 0;
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        return link_accept_make_room(accept, listener, now_ms, error);
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
        return fail_errno(err, HVD_ERR_SYSTEM, error, "accept");
    default:
        return 1; /* an error of this connection alone; see accept(2) */
    }
}

/* Accepts at most half as many connections as can be pending before it reads from them, so that a
 * flood does not push out a neighbour unread. */
static int link_accept_batch(struct link_accept *accept, int listener, uint64_t now_ms,
                             struct err *err)
{
    int rc = listener >= 0 && !accept->paused_until_ms, count = 0;
    while (rc == 1 && count < BATCH) {
        rc = admit(accept, listener, now_ms, err);
        count += rc == 1;
    }
    if (count > 0)
        link_accept_hear(accept, now_ms);
    return rc;
}

int link_accept_move(struct link_accept *accept, uint64_t now_ms, struct err *err)
{
    bool was_shut = accept->error;
    if (now_ms >= accept->paused_until_ms) {
        accept->paused_until_ms = 0;
        accept->error = 0; /* unless the error is still the same */
    }
    link_accept_hear(accept, now_ms);
    int rc = link_accept_batch(accept, accept->unix_listener, now_ms, err);
    if (rc >= 0)
        rc = link_accept_batch(accept, accept->listener, now_ms, err);
    for (int i = 0; i < accept->nothers && rc >= 0; i++)
        rc = link_accept_batch(accept, accept->others[i], now_ms, err);
    if (accept->error && !was_shut)
        accept->shut_ms = now_ms;
    return rc < 0 ? rc : HVD_OK;
}
