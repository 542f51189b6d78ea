/* SPDX-License-Identifier: Apache-2.0 */
/* One attempt to dial a rank at one address:
 *
 *   connecting -> handshake, upgrading (link_connection.h) -> done;  each but the last may fail
 *
 * The peer has 3 seconds to accept the connection and to prove itself. A peer that has proved to be
 * the dialled rank may consider the link ready once it has our proof. So we wait for its answer as
 * long as the connection stands, and only one of several tries may come so far
 * (link_try_is_committed()). Only the rank itself can have its unix socket, so we wait likewise
 * once a unix socket is connected. */
#ifndef LIB_LINK_LINK_TRY_H
#define LIB_LINK_LINK_TRY_H

#include "lib/link/link_connection.h"
#include "lib/link/socket.h"

#include <poll.h>

struct link_try {
    bool handshaking;                  /* not connecting any more */
    uint64_t until_ms;                 /* when it is given up */
    struct link_connection connection; /* only its descriptor, while it is connecting */
};

/* HVD_ERR_PEER_LOST, HVD_ERR_ENVIRONMENT: nobody can be there. HVD_ERR_TIMEOUT: the peer is too
 * busy; try later. HVD_ERR_SYSTEM: no socket. */
int link_try_begin(struct link_try *try, const struct socket_address *address, uint64_t now_ms,
                   struct err *err);

/* 1 when done, 0 if not yet, or a negative status: HVD_ERR_PEER_LOST, or HVD_ERR_AUTH or
 * HVD_ERR_PROTOCOL if an unauthenticated peer answered. */
int link_try_move(struct link_try *try, enum transport transport,
                  const struct link_identity *identity, const struct link_terms *terms,
                  struct rank_credentials *credentials, uint64_t now_ms, struct err *err);

/* True if the peer has our proof. */
bool link_try_is_committed(const struct link_try *try);

/* True if the try is connected to the rank's unix socket. */
bool link_try_is_sure(const struct link_try *try);

struct pollfd link_try_pollfd(const struct link_try *try);

void link_try_end(struct link_try *try);

#endif
