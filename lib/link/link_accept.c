/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting a neighbour; see link_accept.h. */
#include "lib/link/link_accept.h"

#include "lib/link/descriptor.h"
#include "lib/link/link_greet.h"
#include "lib/link/socket.h"

#include <errno.h>
#include <string.h>

enum { STRANGER_MS = 2000, BATCH = PENDING_MAX / 2 };

void link_accept_init(struct link_accept *accept, int listener,
                      const struct link_identity *identity, const struct job_key *key)
{
    accept->listener = listener;
    accept->identity = *identity;
    accept->key = key;
    accept->count = 0;
    accept->accepted = -1;
}

static void forget(struct link_accept *accept, int index)
{
    accept->count--;
    memmove(&accept->pending[index], &accept->pending[index + 1],
            (size_t)(accept->count - index) * sizeof accept->pending[0]);
}

static void drop(struct link_accept *accept, int index)
{
    descriptor_close(accept->pending[index].fd);
    forget(accept, index);
}

void link_accept_fini(struct link_accept *accept)
{
    while (accept->count > 0)
        drop(accept, accept->count - 1);
    descriptor_close(accept->accepted);
    accept->accepted = -1;
}

int link_accept_pollfds(const struct link_accept *accept, struct pollfd fds[ACCEPT_POLLFDS],
                        uint64_t *until_ms)
{
    if (accept->accepted >= 0)
        return 0;
    fds[0] = (struct pollfd){ .fd = accept->listener, .events = POLLIN };
    for (int i = 0; i < accept->count; i++) {
        const struct link_pending *pending = &accept->pending[i];
        fds[1 + i] =
            (struct pollfd){ .fd = pending->fd, .events = link_greet_events(&pending->handshake) };
        if (pending->until_ms < *until_ms)
            *until_ms = pending->until_ms;
    }
    return 1 + accept->count;
}

static int oldest_silent(const struct link_accept *accept)
{
    for (int i = 0; i < accept->count; i++)
        if (accept->pending[i].handshake.awaits == AWAITS_HELLO)
            return i;
    return -1;
}

bool link_accept_shed(struct link_accept *accept)
{
    int index = oldest_silent(accept);
    if (index < 0)
        return false;
    drop(accept, index);
    return true;
}

static void add(struct link_accept *accept, int fd, uint64_t now_ms)
{
    if (accept->count == PENDING_MAX && !link_accept_shed(accept))
        drop(accept, 0);
    struct link_pending *pending = &accept->pending[accept->count++];
    pending->fd = fd;
    pending->until_ms = now_ms + STRANGER_MS;
    link_handshake_accept(&pending->handshake, &accept->identity, accept->key);
    socket_tune(fd);
}

/* Hears everybody who waits. A stranger's mistakes are its own. */
static void hear(struct link_accept *accept, uint64_t now_ms)
{
    for (int i = 0; i < accept->count && accept->accepted < 0;) {
        struct link_pending *pending = &accept->pending[i];
        int rc = link_greet(&pending->handshake, pending->fd, NULL);
        if (rc > 0) {
            accept->accepted = pending->fd;
            forget(accept, i);
        } else if (rc < 0 || now_ms >= pending->until_ms) {
            drop(accept, i);
        } else {
            i++;
        }
    }
}

static bool somebody_knocks(const struct link_accept *accept)
{
    struct pollfd knock = { .fd = accept->listener, .events = POLLIN };
    return poll(&knock, 1, 0) > 0;
}

/* No descriptor is left; accept() says so also when nobody is there. The pending are heard before
 * one is dropped. Returns as admit(). */
static int make_room(struct link_accept *accept, uint64_t now_ms, int error, struct err *err)
{
    if (!somebody_knocks(accept))
        return 0;
    hear(accept, now_ms);
    if (accept->accepted >= 0 || link_accept_shed(accept))
        return 1;
    return accept->count > 0 ? 0 : fail_errno(err, HVD_ERR_SYSTEM, error, "accept");
}

/* Takes one newcomer: 1, 0 if there is none, or HVD_ERR_SYSTEM. */
static int admit(struct link_accept *accept, uint64_t now_ms, struct err *err)
{
    int fd = descriptor_accept(accept->listener);
    if (fd >= 0) {
        add(accept, fd, now_ms);
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
        return make_room(accept, now_ms, error, err);
    case EBADF:
    case EINVAL:
        return fail_errno(err, HVD_ERR_SYSTEM, error, "accept");
    default:
        return 1; /* the newcomer's own trouble; see accept(2) */
    }
}

/* Admits at most half as many as can be pending before it hears them, so that a flood does not wash
 * the neighbour away unheard. */
int link_accept_move(struct link_accept *accept, uint64_t now_ms, struct err *err)
{
    int rc = 1;
    hear(accept, now_ms);
    for (int i = 0; i < BATCH && rc == 1 && accept->accepted < 0; i++)
        rc = admit(accept, now_ms, err);
    hear(accept, now_ms);
    return rc < 0 ? rc : accept->accepted >= 0;
}

int link_accept_take(struct link_accept *accept)
{
    int fd = accept->accepted;
    accept->accepted = -1;
    return fd;
}
