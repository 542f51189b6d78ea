/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting links; see link_accept.h. */
#include "lib/link/link_accept.h"

#include "lib/link/descriptor.h"
#include "lib/link/link_greet.h"
#include "lib/link/network.h"
#include "lib/link/socket.h"

#include <errno.h>
#include <string.h>

enum { STRANGER_MS = 2000, DEAF_MS = 100, BATCH = PENDING_MAX / 2 };

void link_accept_init(struct link_accept *accept, int listener, uint32_t epoch, uint32_t target,
                      const struct job_key *key, link_accepted_fn *on_accepted, void *context)
{
    accept->listener = listener;
    accept->network = NULL;
    accept->epoch = epoch;
    accept->target = target;
    accept->key = key;
    accept->on_accepted = on_accepted;
    accept->context = context;
    accept->count = accept->error = 0;
    accept->deaf_until_ms = 0;
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
}

static void earlier(uint64_t *until_ms, uint64_t at_ms)
{
    if (at_ms < *until_ms)
        *until_ms = at_ms;
}

int link_accept_pollfds(const struct link_accept *accept, struct pollfd *fds, int capacity,
                        uint64_t *until_ms)
{
    if (accept->listener < 0)
        return 0;
    if (accept->deaf_until_ms)
        earlier(until_ms, accept->deaf_until_ms);
    if (capacity > 0)
        fds[0] = (struct pollfd){ .fd = accept->deaf_until_ms ? -1 : accept->listener,
                                  .events = POLLIN };
    for (int i = 0; i < accept->count; i++) {
        const struct link_pending *pending = &accept->pending[i];
        earlier(until_ms, pending->until_ms);
        if (1 + i < capacity)
            fds[1 + i] = (struct pollfd){ .fd = pending->fd,
                                          .events = link_greet_events(&pending->handshake) };
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
    link_handshake_accept(&pending->handshake, accept->epoch, accept->target, accept->key);
    socket_tune(fd, NULL);
}

static void hand_over(struct link_accept *accept, int index)
{
    struct link_identity identity = accept->pending[index].handshake.identity;
    int fd = accept->pending[index].fd;
    forget(accept, index);
    accept->on_accepted(accept->context, &identity, fd);
}

/* Hears everybody who waits. A stranger's mistakes are its own. */
static void hear(struct link_accept *accept, uint64_t now_ms)
{
    for (int i = 0; i < accept->count;) {
        struct link_pending *pending = &accept->pending[i];
        int rc = link_greet(&pending->handshake, pending->fd, NULL);
        if (rc > 0)
            hand_over(accept, i);
        else if (rc < 0 || now_ms >= pending->until_ms)
            drop(accept, i);
        else
            i++;
    }
}

static bool somebody_knocks(const struct link_accept *accept)
{
    struct pollfd knock = { .fd = accept->listener, .events = POLLIN };
    return poll(&knock, 1, 0) > 0;
}

/* No descriptor is left; accept() says so also when nobody is there. The pending are heard before
 * one is dropped. Returns as admit(). */
static int make_room(struct link_accept *accept, uint64_t now_ms, int error)
{
    if (!somebody_knocks(accept))
        return 0;
    hear(accept, now_ms);
    if (link_accept_shed(accept))
        return 1;
    accept->error = error;
    accept->deaf_until_ms = now_ms + DEAF_MS;
    return 0;
}

static bool is_for_us(const struct link_accept *accept, int fd)
{
    struct socket_address address;
    return !accept->network || !socket_local_address(fd, &address) ||
           network_admits(accept->network, &address.storage);
}

/* Takes one newcomer: 1, 0 if there is none, or HVD_ERR_SYSTEM. */
static int admit(struct link_accept *accept, uint64_t now_ms, struct err *err)
{
    int fd = descriptor_accept(accept->listener);
    if (fd >= 0) {
        accept->error = 0;
        if (is_for_us(accept, fd))
            add(accept, fd, now_ms);
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
        return make_room(accept, now_ms, error);
    case EBADF:
    case EINVAL:
    case ENOTSOCK:
        return fail_errno(err, HVD_ERR_SYSTEM, error, "accept");
    default:
        return 1; /* the newcomer's own trouble; see accept(2) */
    }
}

/* Admits at most half as many as can be pending before it hears them, so that a flood does not wash
 * a neighbour away unheard. */
int link_accept_move(struct link_accept *accept, uint64_t now_ms, struct err *err)
{
    if (accept->listener < 0)
        return HVD_OK;
    if (now_ms >= accept->deaf_until_ms)
        accept->deaf_until_ms = 0;
    int rc = accept->deaf_until_ms ? 0 : 1;
    hear(accept, now_ms);
    for (int i = 0; i < BATCH && rc == 1; i++)
        rc = admit(accept, now_ms, err);
    hear(accept, now_ms);
    return rc < 0 ? rc : HVD_OK;
}
