/* SPDX-License-Identifier: Apache-2.0 */
/* A link moves bytes between two ranks, in order and exactly once. An interface: link_tcp.h is one
 * implementation, tests/support/link_memory.h another.
 *
 * A link is used by one thread at a time. Nothing blocks. After a failure the link is only good for
 * close(). */
#ifndef LIB_LINK_LINK_H
#define LIB_LINK_LINK_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct link;

struct link_type {
    /* Takes as many bytes of the `count` parts, in order, as can be sent at once. Returns how many,
     * 0 for none now, or a negative status. */
    ssize_t (*try_send)(struct link *link, const struct iovec *parts, int count, struct err *err);

    /* Fills the `count` parts (of at least 1 byte together), in order, with bytes that are there.
     * Returns how many, 0 for none now, or a negative status; that the other side has ended is
     * HVD_ERR_PEER_LOST. */
    ssize_t (*try_receive)(struct link *link, const struct iovec *parts, int count,
                           struct err *err);

    /* For poll(): readable when try_receive() has something to say, writable when try_send() has.
     * -1 if the link cannot be waited for. */
    int (*pollable)(const struct link *link);

    /* A look at the other side's host, made some times a second while a collective waits: HVD_OK,
     * or HVD_ERR_PEER_LOST when it does not acknowledge what was sent. */
    int (*check)(struct link *link, struct err *err);

    /* What was sent still arrives. Frees the link. */
    void (*close)(struct link *link);
};

/* The first member of each implementation. */
struct link {
    const struct link_type *type;
    uint64_t *sent; /* borrowed, may be NULL: what has been sent is added to it */
};

static inline ssize_t link_try_send(struct link *link, const struct iovec *parts, int count,
                                    struct err *err)
{
    ssize_t nbytes = link->type->try_send(link, parts, count, err);
    if (nbytes > 0 && link->sent)
        *link->sent += (uint64_t)nbytes;
    return nbytes;
}

static inline ssize_t link_try_receive(struct link *link, void *data, size_t size, struct err *err)
{
    struct iovec part = { data, size };
    return link->type->try_receive(link, &part, 1, err);
}

static inline ssize_t link_try_receive_parts(struct link *link, const struct iovec *parts,
                                             int count, struct err *err)
{
    return link->type->try_receive(link, parts, count, err);
}

static inline int link_pollable(const struct link *link)
{
    return link->type->pollable(link);
}

static inline int link_check(struct link *link, struct err *err)
{
    return link->type->check(link, err);
}

/* NULL is fine. */
static inline void link_close(struct link *link)
{
    if (link)
        link->type->close(link);
}

#endif
