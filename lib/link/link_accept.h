/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting one neighbour on a port that anybody may connect to.
 *
 * Up to 64 connections are heard at the same time, each for at most 2 seconds; whoever is not the
 * neighbour is closed, and for a newcomer beyond the 64 the oldest that has said nothing yet;
 * likewise when the process may open no more descriptors. The first that proves itself is the link;
 * nobody else can make this fail. */
#ifndef LIB_LINK_LINK_ACCEPT_H
#define LIB_LINK_LINK_ACCEPT_H

#include "lib/link/link_handshake.h"

#include <poll.h>
#include <stdbool.h>

enum { PENDING_MAX = 64, ACCEPT_POLLFDS = PENDING_MAX + 1 };

struct link_pending {
    int fd;
    uint64_t until_ms;
    struct link_handshake handshake;
};

struct link_accept {
    int listener; /* borrowed */
    struct link_identity identity;
    const struct job_key *key; /* borrowed */
    int count;
    struct link_pending pending[PENDING_MAX]; /* oldest first */
    int accepted;                             /* the neighbour's socket, or -1 */
};

void link_accept_init(struct link_accept *accept, int listener,
                      const struct link_identity *identity, const struct job_key *key);
void link_accept_fini(struct link_accept *accept);

/* Fills in what to wait for; returns how many, 0 when the neighbour is here. Lowers `*until_ms` to
 * when time must be looked at. */
int link_accept_pollfds(const struct link_accept *accept, struct pollfd fds[ACCEPT_POLLFDS],
                        uint64_t *until_ms);

/* Goes on after what was waited for. 1 when the neighbour is here (link_accept_take), 0 if not, or
 * HVD_ERR_SYSTEM. */
int link_accept_move(struct link_accept *accept, uint64_t now_ms, struct err *err);
int link_accept_take(struct link_accept *accept);

/* Drops the oldest stranger that has said nothing, for want of its descriptor. False if there is
 * none. */
bool link_accept_shed(struct link_accept *accept);

#endif
