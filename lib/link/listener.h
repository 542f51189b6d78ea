/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets on which a rank listens for links: a port, and a unix socket for ranks of this host.
 * The port is open on all networks, IPv4 and IPv6; or on loopback alone when all ranks are on this
 * host; or on chosen addresses and loopback, a socket each, so that no host on another network can
 * connect. The name of the unix socket is random and abstract: in another network namespace the
 * name leads to no other rank, and nothing is left after a crash.
 *
 * Fails (HVD_ERR_SYSTEM) when no port is free, with a text that names the range of ports if there
 * is one; or when no unix socket can be made, which is not fatal to ranks. */
#ifndef LIB_LINK_LISTENER_H
#define LIB_LINK_LISTENER_H

#include "lib/base/interfaces.h"
#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "lib/link/socket.h"

#include <stdbool.h>
#include <stdint.h>

/* Both ends included; { 0, 0 }: the system chooses a port. */
struct port_range {
    int first, last;
};

enum { LISTENER_OTHERS_MAX = JOIN_ADDRESSES_MAX };

struct listener {
    int fd; /* the caller's to close; -1 on failure */
    uint16_t port;
    bool has_ipv6, on_loopback;
    int unix_fd;                            /* the caller's to close; -1 until
                                             * listener_open_unix() */
    char unix_address[SOCKET_ADDRESS_TEXT]; /* "unix:...", or "" */
    int others[LISTENER_OTHERS_MAX];        /* the caller's to close: the same port at further
                                             * addresses */
    int nothers;
};

#define NO_LISTENER ((struct listener){ .fd = -1, .unix_fd = -1 })

/* Tries each port of a range once, beginning at a port that depends on `rank`, so that the ranks of
 * a host do not try the same ports. */
int listener_open(struct listener *listener, const struct port_range *range, int rank,
                  bool on_loopback, struct err *err);

/* Like listener_open() at these addresses alone: the first loopback address, which all ranks of a
 * host share, and as many others as fit into the message to other ranks. IPv6 is left out where
 * there is none. */
int listener_open_at(struct listener *listener, const struct port_range *range, int rank,
                     const struct interfaces *interfaces, struct err *err);

/* Closes the sockets, the unix socket too. */
void listener_close(struct listener *listener);

/* Opens the unix socket of an opened listener. On failure there is none, and the rest is
 * unchanged. */
int listener_open_unix(struct listener *listener, struct err *err);

#endif
