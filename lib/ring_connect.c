/* SPDX-License-Identifier: Apache-2.0 */
/* Linking up with the neighbours; see ring_connect.h. */
#include "lib/ring_connect.h"

#include "lib/join/news.h"
#include "lib/link/descriptor.h"
#include "lib/link/link_accept.h"
#include "lib/link/link_dial.h"
#include "lib/link/link_tcp.h"
#include "lib/link/socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS_TIMEOUT_MS = 30000 };

/* What is under way. */
struct connecting {
    struct seat *seat;
    struct failure *failure;
    uint64_t deadline_ms;
    bool dialled, accepted;
    struct link_dial dial;
    struct link_accept accept;
};

static struct link_identity identity_of(const struct join_welcome *welcome, int source, int target)
{
    return (struct link_identity){ .epoch = welcome->epoch,
                                   .source = (uint32_t)source,
                                   .target = (uint32_t)target };
}

static void begin(struct connecting *c, struct seat *seat, struct failure *failure)
{
    const struct join_welcome *welcome = &seat->welcome;
    int rank = welcome->place.rank;
    c->seat = seat;
    c->failure = failure;
    c->deadline_ms = monotonic_ms() + LINKS_TIMEOUT_MS;
    c->dialled = c->accepted = false;
    struct link_identity to_right = identity_of(welcome, rank, welcome->right.rank);
    struct link_identity from_left = identity_of(welcome, welcome->left.rank, rank);
    link_dial_init(&c->dial, &welcome->right, &to_right, &seat->key);
    link_accept_init(&c->accept, seat->listener, &from_left, &seat->key);
}

static int timed_out(const struct connecting *c, struct err *err)
{
    const struct join_welcome *welcome = &c->seat->welcome;
    if (!c->dialled)
        return fail(err, HVD_ERR_TIMEOUT, "no link to rank %d on %s within %d s: %s",
                    welcome->right.rank, welcome->right.host, LINKS_TIMEOUT_MS / 1000,
                    c->dial.last.code ? c->dial.last.text : "no answer");
    return fail(err, HVD_ERR_TIMEOUT, "no link from rank %d on %s within %d s", welcome->left.rank,
                welcome->left.host, LINKS_TIMEOUT_MS / 1000);
}

/* A rank that has left, or has called a collective, was linked before; one that is lost never will
 * be. */
static int hear_news(struct connecting *c, struct err *err)
{
    news_receive(&c->seat->connection, c->failure);
    pthread_mutex_lock(&c->failure->lock);
    struct err known = c->failure->err;
    pthread_mutex_unlock(&c->failure->lock);
    if (known.code == HVD_OK || known.code == HVD_ERR_PEER_LEFT || known.code == HVD_ERR_MISMATCH)
        return HVD_OK;
    *err = known;
    return known.code;
}

static int move(struct connecting *c, struct err *err)
{
    uint64_t now = monotonic_ms();
    int rc = hear_news(c, err);
    if (rc == HVD_OK && !c->dialled) {
        rc = link_dial_move(&c->dial, now, err);
        c->dialled = rc > 0;
        if (rc == HVD_ERR_SYSTEM && link_accept_shed(&c->accept))
            rc = 0; /* tried again at once */
        if (rc < 0)
            fail_context(err, "link to rank %d on %s", c->dial.peer->rank, c->dial.peer->host);
    }
    if (rc >= 0 && !c->accepted) {
        rc = link_accept_move(&c->accept, now, err);
        c->accepted = rc > 0;
    }
    if (rc >= 0 && now >= c->deadline_ms && !(c->dialled && c->accepted))
        rc = timed_out(c, err);
    return rc < 0 ? rc : HVD_OK;
}

static int sleep_until_movable(const struct connecting *c, struct err *err)
{
    struct pollfd fds[2 + ACCEPT_POLLFDS];
    uint64_t until = c->deadline_ms, now = monotonic_ms();
    fds[0] = (struct pollfd){ .fd = c->seat->connection.fd, .events = POLLIN };
    fds[1] = link_dial_pollfd(&c->dial);
    if (!c->dialled && c->dial.until_ms < until)
        until = c->dial.until_ms;
    int count = 2 + link_accept_pollfds(&c->accept, fds + 2, &until);
    if (poll(fds, (nfds_t)count, until > now ? (int)(until - now) : 0) < 0 && errno != EINTR)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "poll");
    return HVD_OK;
}

static int take_links(struct connecting *c, struct ring *ring, struct err *err)
{
    ring->staging = aligned_alloc(64, RING_SEGMENT);
    if (ring->staging && (ring->right.link = link_tcp_create(c->dial.fd)))
        link_dial_take(&c->dial);
    if (ring->right.link && (ring->left.link = link_tcp_create(c->accept.accepted)))
        link_accept_take(&c->accept);
    if (ring->left.link)
        return HVD_OK;
    ring_fini(ring);
    return fail(err, HVD_ERR_NOMEM, "out of memory");
}

static int connect_both(struct ring *ring, struct connecting *c, struct err *err)
{
    int rc = move(c, err);
    while (rc == HVD_OK && !(c->dialled && c->accepted)) {
        rc = sleep_until_movable(c, err);
        if (rc == HVD_OK)
            rc = move(c, err);
    }
    if (rc == HVD_OK)
        rc = take_links(c, ring, err);
    link_dial_fini(&c->dial);
    link_accept_fini(&c->accept);
    return rc;
}

static void name_neighbour(struct ring_neighbour *neighbour, const struct join_peer *peer)
{
    neighbour->rank = peer->rank;
    memcpy(neighbour->host, peer->host, sizeof neighbour->host);
}

int ring_connect(struct ring *ring, struct seat *seat, struct failure *failure, struct err *err)
{
    const struct join_welcome *welcome = &seat->welcome;
    *ring = (struct ring){ .rank = welcome->place.rank, .size = welcome->place.size };
    if (ring->size == 1)
        return HVD_OK;
    name_neighbour(&ring->left, &welcome->left);
    name_neighbour(&ring->right, &welcome->right);
    struct connecting *connecting = malloc(sizeof *connecting);
    if (!connecting)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    begin(connecting, seat, failure);
    int rc = connect_both(ring, connecting, err);
    free(connecting);
    descriptor_close(seat->listener);
    seat->listener = -1;
    return rc;
}
