/* SPDX-License-Identifier: Apache-2.0 */
/* A connection that is becoming a link, seen from either side:
 *
 *   handshake (link_handshake.h) -> upgrading (link_upgrade.h), on a unix socket alone -> made
 *
 * The initiator sends its offer together with its own proof, when the acceptor has proved itself.
 * Nonblocking. Fails as link_handshake.h and link_upgrade.h do; the caller then closes the
 * connection. */
#ifndef LIB_LINK_LINK_CONNECTION_H
#define LIB_LINK_LINK_CONNECTION_H

#include "lib/link/link_handshake.h"
#include "lib/link/link_upgrade.h"

struct link_connection {
    int fd;
    bool is_unix;
    bool initiates;
    bool proved;    /* the handshake is over */
    bool upgrading; /* has begun */
    enum transport transport;
    struct link_handshake handshake;
    struct link_upgrade upgrade; /* once it has begun */
};

/* Takes over `fd`, a connected, nonblocking stream socket, and sets its options. `transport` is
 * the transport that this rank wants on its own host. The terms are for TCP; a unix socket is
 * never encrypted. */
void link_connection_initiate(struct link_connection *connection, int fd, enum transport transport,
                              const struct link_identity *identity, const struct link_terms *terms,
                              struct rank_credentials *credentials);
void link_connection_accept(struct link_connection *connection, int fd, enum transport transport,
                            const struct link_terms *terms, struct rank_credentials *credentials);

void link_connection_close(struct link_connection *connection);

/* 1 when the link is made, 0 when the caller must wait, or a negative status. */
int link_connection_move(struct link_connection *connection, struct err *err);

/* The event to wait for: POLLIN or POLLOUT. */
short link_connection_events(const struct link_connection *connection);

/* When the link is made: HVD_ERR_ENVIRONMENT, naming both ranks and their settings, if one rank
 * requires encryption and the other has turned it off. */
int link_connection_check_terms(const struct link_connection *connection, struct err *err);

/* The finished link, whose terms are checked; the connection is used up. NULL and HVD_ERR_NOMEM: it
 * is closed. */
struct link *link_connection_link(struct link_connection *connection, struct err *err);

/* For a unix socket: why no memory is shared, or "". */
const char *link_connection_why(const struct link_connection *connection);

#endif
