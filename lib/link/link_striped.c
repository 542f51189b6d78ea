/* SPDX-License-Identifier: Apache-2.0 */
/* A link over several links; see link_striped.h.
 *
 * At any time one stream receives and one stream sends; they may differ. A waiting caller polls an
 * epoll descriptor, which is updated before each wait and at no other time. The epoll descriptor
 * also shows a stream that breaks out of turn. When the peer has ended, all streams break, and the
 * stream whose turn it is reports the end behind its last byte. If this stream has not reported an
 * end by the second check, the stream that broke out of turn is the failure. */
#include "lib/link/link_striped.h"

#include "lib/base/descriptor.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/epoll.h>

/* The stream whose turn it is, and the rest of its block. */
struct turn {
    int stream;
    size_t left;
};

struct link_striped {
    struct link link;
    struct turn out, in;
    bool suspected; /* a check has seen one that is dropped */
    int epoll;
    int count;
    struct link *streams[STREAMS_MAX];
    uint32_t watched[STREAMS_MAX]; /* the events that the epoll descriptor watches */
    bool dropped[STREAMS_MAX];     /* broken out of turn, not watched any more */
};

typedef ssize_t move_fn(struct link *link, const struct iovec *parts, int count, struct err *err);

static struct link_striped *striped_of(const struct link *link)
{
    return (struct link_striped *)(void *)link;
}

enum { PIECES = 8 };

/* The bytes [start, start + nbytes) of the parts, as far as they are in few pieces. Returns the
 * number of pieces; `*size` is their bytes. */
static int slice(struct iovec pieces[PIECES], const struct iovec *parts, int count, size_t start,
                 size_t nbytes, size_t *size)
{
    int used = 0;
    *size = 0;
    for (int i = 0; i < count && used < PIECES && *size < nbytes; i++) {
        if (start >= parts[i].iov_len) {
            start -= parts[i].iov_len;
            continue;
        }
        size_t rest = parts[i].iov_len - start, room = nbytes - *size;
        size_t length = rest < room ? rest : room;
        pieces[used++] = (struct iovec){ (char *)parts[i].iov_base + start, length };
        *size += length;
        start = 0;
    }
    return used;
}

static void link_striped_advance(const struct link_striped *striped, struct turn *turn,
                                 size_t nbytes)
{
    turn->left -= nbytes;
    if (turn->left > 0)
        return;
    turn->stream = (turn->stream + 1) % striped->count;
    turn->left = STRIPE_BLOCK;
}

/* Goes on block by block, until a stream moves less than asked. */
static ssize_t move(struct link_striped *striped, struct turn *turn, move_fn *move_some,
                    const struct iovec *parts, int count, struct err *err)
{
    struct iovec pieces[PIECES];
    size_t done = 0, size;
    for (;;) {
        int used = slice(pieces, parts, count, done, turn->left, &size);
        if (used == 0)
            return (ssize_t)done;
        ssize_t moved = move_some(striped->streams[turn->stream], pieces, used, err);
        if (moved < 0 && done == 0)
            return moved;
        if (moved <= 0)
            return (ssize_t)done; /* a failure is there the next time, too */
        done += (size_t)moved;
        link_striped_advance(striped, turn, (size_t)moved);
        if ((size_t)moved < size)
            return (ssize_t)done;
    }
}

static ssize_t striped_try_send(struct link *link, const struct iovec *parts, int count,
                                struct err *err)
{
    struct link_striped *striped = striped_of(link);
    return move(striped, &striped->out, link_try_send, parts, count, err);
}

static ssize_t striped_try_receive(struct link *link, const struct iovec *parts, int count,
                                   struct err *err)
{
    struct link_striped *striped = striped_of(link);
    return move(striped, &striped->in, link_try_receive_parts, parts, count, err);
}

static int striped_pollable(const struct link *link)
{
    return striped_of(link)->epoll;
}

static int striped_check(struct link *link, struct err *err)
{
    struct link_striped *striped = striped_of(link);
    int rc = HVD_OK;
    bool dropped = false;
    for (int i = 0; rc == HVD_OK && i < striped->count; i++) {
        rc = link_check(striped->streams[i], err);
        dropped |= striped->dropped[i];
    }
    if (rc == HVD_OK && striped->suspected)
        return fail(err, HVD_ERR_PEER_LOST, "one of %d streams broke", striped->count);
    striped->suspected = dropped;
    return rc;
}

static void link_striped_watch(struct link_striped *striped, int stream, uint32_t events)
{
    struct epoll_event event = { .events = events };
    if (striped->watched[stream] == events || striped->dropped[stream])
        return;
    epoll_ctl(striped->epoll, EPOLL_CTL_MOD, link_pollable(striped->streams[stream]), &event);
    striped->watched[stream] = events;
}

/* A broken stream that is not waited for would keep the descriptor ready for ever. */
static void drop_broken(struct link_striped *striped)
{
    for (int i = 0; i < striped->count; i++) {
        struct pollfd look = { .fd = link_pollable(striped->streams[i]) };
        if (striped->watched[i] != 0 || striped->dropped[i] || poll(&look, 1, 0) <= 0)
            continue;
        epoll_ctl(striped->epoll, EPOLL_CTL_DEL, look.fd, NULL);
        striped->dropped[i] = true;
    }
}

static bool striped_sleep(struct link *link, short wanted, short *events)
{
    struct link_striped *striped = striped_of(link);
    short ignored;
    bool has_event =
        (wanted & POLLIN && !link_sleep(striped->streams[striped->in.stream], POLLIN, &ignored));
    bool turns_gone = (wanted & POLLIN && striped->dropped[striped->in.stream]) ||
                      (wanted & POLLOUT && striped->dropped[striped->out.stream]);
    for (int i = 0; i < striped->count; i++) {
        bool receives = wanted & POLLIN && i == striped->in.stream;
        bool sends = wanted & POLLOUT && i == striped->out.stream;
        link_striped_watch(striped, i, (receives ? EPOLLIN : 0u) | (sends ? EPOLLOUT : 0u));
    }
    drop_broken(striped);
    *events = POLLIN;
    return !turns_gone && !has_event; /* the failure of the former is there */
}

static void free_striped(struct link_striped *striped)
{
    descriptor_close(striped->epoll);
    free(striped);
}

static void striped_close(struct link *link)
{
    struct link_striped *striped = striped_of(link);
    for (int i = 0; i < striped->count; i++)
        link_close(striped->streams[i]);
    free_striped(striped);
}

static const struct link_type link_striped_type = {
    .transport = TRANSPORT_TCP,
    .try_send = striped_try_send,
    .try_receive = striped_try_receive,
    .pollable = striped_pollable,
    .sleep = striped_sleep,
    .check = striped_check,
    .close = striped_close,
};

static bool watch_streams(const struct link_striped *striped)
{
    struct epoll_event nothing = { .events = 0 };
    for (int i = 0; i < striped->count; i++)
        if (epoll_ctl(striped->epoll, EPOLL_CTL_ADD, link_pollable(striped->streams[i]), &nothing) <
            0)
            return false;
    return true;
}

struct link *link_striped_create(struct link *const links[], int count, struct err *err)
{
    struct link_striped *striped = calloc(1, sizeof *striped);
    if (!striped) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    striped->link.type = &link_striped_type;
    striped->out.left = striped->in.left = STRIPE_BLOCK;
    striped->count = count;
    striped->epoll = descriptor_epoll();
    for (int i = 0; i < count; i++)
        striped->streams[i] = links[i];
    if (striped->epoll >= 0 && watch_streams(striped))
        return &striped->link;
    fail_errno(err, HVD_ERR_SYSTEM, errno, "epoll");
    free_striped(striped);
    return NULL;
}
