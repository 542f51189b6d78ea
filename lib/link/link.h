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
     * 0 for none now, or a negative status. Without parts it returns only the status of a link with
     * an offer that is not taken: HVD_ERR_PEER_LOST if the offer will never be taken. */
    ssize_t (*try_send)(struct link *link, const struct iovec *parts, int count, struct err *err);

    /* Fills the `count` parts (of at least 1 byte together), in order, with received bytes. Returns
     * how many, 0 for none now, or a negative status; HVD_ERR_PEER_LOST when the peer has ended. */
    ssize_t (*try_receive)(struct link *link, const struct iovec *parts, int count,
                           struct err *err);

    /* For poll(), after sleep() has allowed it: readable when try_receive() has something to
     * return, writable when try_send() has. -1 if the link cannot be waited for. */
    int (*pollable)(const struct link *link);

    /* The five functions below are NULL in a type that only copies. */

    /* Offers `nbytes` of `data`, which the peer fetches from this memory; they must not change
     * before taken() has counted them. Returns how many bytes from the front are offered, all or
     * some; 0 if try_send() should send them instead, since copying is faster or the peer cannot
     * reach them; or a negative status. */
    ssize_t (*offer)(struct link *link, const void *data, size_t nbytes, struct err *err);

    /* True if the peer's processor shares no cache with this one, so that what the peer reads in
     * place should be written by stores that bypass the caches (copy.h). NULL: false. */
    bool (*is_far)(const struct link *link);

    /* True unless the two processors were seen to share no cache. NULL: false. */
    bool (*may_be_near)(const struct link *link);

    /* How many of all bytes that were ever offered, in order, have been fetched. Changes only when
     * try_send(), offer() or try_receive() could make progress. Reads memory, without a system
     * call. But bytes that the peer turns out not to be able to fetch are copied here, and in
     * try_send() and offer(). */
    uint64_t (*taken)(struct link *link);

    /* The next received bytes, readable until consume(), or NULL: none have come, or only
     * try_receive() gets them. `*nbytes` is how many lie in one piece; more may have come. After an
     * error of the link: NULL, and try_receive() returns the error. A malicious peer may change the
     * bytes: they are good for sums, and must not be read twice. */
    const void *(*peek)(struct link *link, size_t *nbytes);

    /* Consumes the first `nbytes` of peek(). A negative status if the bytes may have changed
     * meanwhile, because the peer has given up: then they must not be trusted. */
    int (*consume)(struct link *link, size_t nbytes, struct err *err);

    /* The caller wants to wait in poll() for `wanted`: POLLIN; and POLLOUT for progress of taken()
     * since its last call, and for room, if the last try_send() had too little or nothing is to be
     * taken. Stores the events for poll(). False: do not wait, because an event is there already,
     * or the link has failed, which try_receive() and try_send() will report. From now on every
     * event makes the descriptor readable, until the link is used again. NULL: poll for `wanted`
     * itself. */
    bool (*sleep)(struct link *link, short wanted, short *events);

    /* Checks the peer's host, some times a second while a collective waits: HVD_OK, or
     * HVD_ERR_PEER_LOST when the host does not acknowledge sent bytes. */
    int (*check)(struct link *link, struct err *err);

    /* `ranks` of this host, at least 2, exchange data with each other: says how much memory the
     * link may use. Called before anything is sent. NULL: that makes no difference. */
    void (*share)(struct link *link, int ranks);

    /* Frees the link. Bytes that were sent still arrive. */
    void (*close)(struct link *link);
};

/* The first member of each implementation. */
struct link {
    const struct link_type *type;
    uint64_t *sent; /* borrowed, may be NULL: counts the bytes sent */

    /* The caller's: bytes of the vector from which the next bytes are offered, if an allreduce
     * reduces it; 0 if the bytes are only copied. */
    size_t reduced;

    /* The caller's: about how many bytes the peer gets in the message to which the next bytes
     * belong, if the link should choose their way by what it has measured (shm_costs.h); 0 if
     * not. */
    size_t message;

    /* The caller's, of such a message: the peer sends about as much to this rank at the same time,
     * so that both processors are busy and the sum of all copies counts. Otherwise nothing comes
     * back, so that the two copies of a ring go on at the same time. */
    bool exchanged;
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

/* 0 where the link cannot offer. */
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

static inline bool link_is_far(const struct link *link)
{
    return link->type->is_far && link->type->is_far(link);
}

static inline bool link_may_be_near(const struct link *link)
{
    return link->type->may_be_near && link->type->may_be_near(link);
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

static inline void link_share(struct link *link, int ranks)
{
    if (link->type->share)
        link->type->share(link, ranks);
}

/* NULL is fine. */
static inline void link_close(struct link *link)
{
    if (link)
        link->type->close(link);
}

#endif
