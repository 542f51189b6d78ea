/* SPDX-License-Identifier: Apache-2.0 */
/* Accepts links from other ranks on a port that anybody may connect to, and on a unix socket, where
 * connections of other users' processes are closed at once.
 *
 * Up to 64 connections may be in their handshake at the same time, each for at most 2 seconds. A
 * connection that does not prove itself is closed. When a new connection exceeds the 64, or when
 * the process may open no more descriptors, the oldest connection that has sent nothing yet is
 * closed. If closing does not help, the acceptor accepts nothing for 100 ms. A connection to an
 * address of this host that is not for this job is closed at once. A peer that has proved which
 * rank it is, and that it means this rank of this world, becomes a link. On the unix socket both
 * sides first agree whether to share memory, which may take as long as the connection stands. No
 * other client can make this fail. */
#ifndef LIB_LINK_LINK_ACCEPT_H
#define LIB_LINK_LINK_ACCEPT_H

#include "lib/link/link_connection.h"

#include <poll.h>
#include <stdbool.h>

enum { PENDING_MAX = 64 };

/* Makes a link of `connection`, or closes it. The identity is proved; this function judges whether
 * source and channel make sense. */
typedef void link_accepted_fn(void *context, const struct link_identity *identity,
                              struct link_connection *connection);

struct link_pending {
    uint64_t until_ms;
    struct link_connection connection;
};

struct network;

struct link_accept {
    int listener;      /* borrowed; -1: no connection ever comes */
    const int *others; /* borrowed: `nothers` more sockets of this kind; at first none */
    int nothers;
    int unix_listener;             /* borrowed; -1, as it is at first */
    enum transport transport;      /* on this host; at first TRANSPORT_AUTO */
    struct link_terms terms;       /* at first no encryption */
    const struct network *network; /* borrowed; NULL, as it is at first: every address is for us */
    struct rank_credentials *credentials; /* borrowed */
    link_accepted_fn *on_accepted;
    void *context;
    int count;
    struct link_pending pending[PENDING_MAX]; /* oldest first */
    int error;                                /* why waiting connections cannot be accepted, or 0 */
    uint64_t shut_ms;                         /* since when; valid with `error` */
    uint64_t paused_until_ms;                 /* no connection is accepted until then; 0: now */
};

void link_accept_init(struct link_accept *accept, int listener,
                      struct rank_credentials *credentials, link_accepted_fn *on_accepted,
                      void *context);
void link_accept_fini(struct link_accept *accept);

/* The number of descriptors to wait for; fills in as many as `capacity` allows. Lowers `*until_ms`
 * to the next timeout. */
int link_accept_pollfds(const struct link_accept *accept, struct pollfd *fds, int capacity,
                        uint64_t *until_ms);

/* Goes on after the wait; calls on_accepted. HVD_ERR_SYSTEM if the listener is none. */
int link_accept_move(struct link_accept *accept, uint64_t now_ms, struct err *err);

/* Drops the oldest unauthenticated peer that has sent nothing, to free its descriptor. False if
 * there is none. */
bool link_accept_shed(struct link_accept *accept);

#endif
