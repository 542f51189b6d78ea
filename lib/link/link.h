/* SPDX-License-Identifier: Apache-2.0 */
/* A link moves bytes between two ranks, in order and exactly once. An interface: link_tcp.h and
 * link_shm.h are implementations, tests/support/link_memory.h another.
 *
 * Data to send are copied, or offered: an offer takes its place in the order of bytes, but the data
 * stay in the sender's memory until the peer has fetched them. Received data are copied, or read in
 * place.
 *
 * Only one thread at a time may use a link. No call blocks. After a failure only close() is
 * permitted, with one exception: when sending or offering has failed because the peer is gone, data
 * that the peer sent before can still be received, until try_receive() fails likewise. */
#ifndef LIB_LINK_LINK_H
#define LIB_LINK_LINK_H

#include "lib/base/status.h"
#include "lib/base/transport.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct link;

struct link_type {
    enum transport transport; /* TRANSPORT_SHM, TRANSPORT_UNIX or TRANSPORT_TCP */

    /* Takes as many bytes of the `count` parts, in order, as can be sent at once. Returns how many,
     * 0 for none now, or a negative status; without any part only the status, of a link of which
     * something is offered and not taken: HVD_ERR_PEER_LOST if it never will be. */
    ssize_t (*try_send)(struct link *link, const struct iovec *parts, int count, struct err *err);

    /* Fills the `count` parts (of at least 1 byte together), in order, with bytes that are there.
     * Returns how many, 0 for none now, or a negative status; that the other side has ended is
     * HVD_ERR_PEER_LOST. */
    ssize_t (*try_receive)(struct link *link, const struct iovec *parts, int count,
                           struct err *err);

    /* For poll(), after sleep() has allowed it: readable when try_receive() has something to say,
     * writable when try_send() has. -1 if the link cannot be waited for. */
    int (*pollable)(const struct link *link);

    /* The four below are NULL in a type that only copies. */

    /* Offers `nbytes` of `data` to be fetched by the other side from where they lie; they must not
     * change before taken() says so. Returns how many bytes from the front are offered, all or
     * some; 0 if they are to be sent by try_send() instead, since copying them is better or the
     * other side cannot reach them; or a negative status. */
    ssize_t (*offer)(struct link *link, const void *data, size_t nbytes, struct err *err);

    /* Of all bytes that were ever offered, in order, so many have been fetched. Only moves when
     * try_send(), offer() or try_receive() could: a look at memory, no system call. But what the
     * other side cannot fetch after all is copied for it here, and in try_send() and offer(). */
    uint64_t (*taken)(struct link *link);

    /* Where the next bytes lie that have come, readable until consume(), or NULL: none have, or
     * only try_receive() gets them. `*nbytes` is how many lie there in one piece; it may be a part
     * of what has come. After an error of the link: NULL, and try_receive() tells. They may change
     * if the other side means harm: they are for sums, not to be read twice. */
    const void *(*peek)(struct link *link, size_t *nbytes);

    /* The first `nbytes` of what peek() said have been used. A negative status if they may have
     * changed meanwhile, because the other side has given up: they must not be believed. */
    int (*consume)(struct link *link, size_t nbytes, struct err *err);

    /* The caller wants to wait in poll() for `wanted`: POLLIN, and POLLOUT for something to be
     * taken that was not when taken() was last asked, and for room, if the last try_send() had too
     * little or nothing is to be taken. Fills in what poll() is to look for. False: do not wait, it
     * is there already, or the link has failed, as try_receive() and try_send() will say. From now
     * on whatever comes makes the descriptor readable, until the link is used again. NULL: just
     * poll for what is wanted. */
    bool (*sleep)(struct link *link, short wanted, short *events);

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

/* 0 where nothing can be offered. */
static inline ssize_t link_offer(struct link *link, const void *data, size_t nbytes,
                                 struct err *err)
{
    if (!link->type->offer)
        return 0;
    ssize_t offered = link->type->offer(link, data, nbytes, err);
    if (offered > 0 && link->sent)
        *link->sent += (uint64_t)offered;
    return offered;
}

static inline uint64_t link_taken(struct link *link)
{
    return link->type->taken ? link->type->taken(link) : 0;
}

static inline const void *link_peek(struct link *link, size_t *nbytes)
{
    *nbytes = 0;
    return link->type->peek ? link->type->peek(link, nbytes) : NULL;
}

static inline int link_consume(struct link *link, size_t nbytes, struct err *err)
{
    return link->type->consume(link, nbytes, err);
}

static inline bool link_sleep(struct link *link, short wanted, short *events)
{
    *events = wanted;
    return link->type->sleep ? link->type->sleep(link, wanted, events) : true;
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
