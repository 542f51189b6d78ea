/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rank is dialled: a port for all networks, IPv4 and IPv6, or on loopback alone when all
 * ranks are on this host, or on the addresses that were chosen and loopback, a socket each, so that
 * nobody on another network finds it; and a unix socket for the ranks of this host. Its name is random and lies in
 * no file: who has no such socket in its network namespace does not find another rank's instead, and
 * nothing is left after a crash.
 *
 * Fails (HVD_ERR_SYSTEM) when no port can be had, with a text that names the range if there is one;
 * or no unix socket, without which ranks can live. */
#ifndef LIB_LINK_LISTENER_H
#define LIB_LINK_LISTENER_H

#include "lib/base/interfaces.h"
#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "lib/link/socket.h"

#include <stdbool.h>
#include <stdint.h>

/* Both included; { 0, 0 }: whatever the system chooses. */
struct port_range {
    int first, last;
};

enum { LISTENER_OTHERS_MAX = JOIN_ADDRESSES_MAX };

struct listener {
    int fd; /* the caller's to close; -1 on failure */
    uint16_t port;
    bool has_ipv6, on_loopback;
    int unix_fd;                            /* likewise; -1 until listener_open_unix() */
    char unix_address[SOCKET_ADDRESS_TEXT]; /* "unix:...", or "" */
    int others[LISTENER_OTHERS_MAX];        /* likewise: the same port at further addresses */
    int nothers;
};

#define NO_LISTENER ((struct listener){ .fd = -1, .unix_fd = -1 })

/* A range is tried once around, beginning at a port that differs by `rank`, so that the ranks of a
 * host do not run into each other. */
int listener_open(struct listener *listener, const struct port_range *range, int rank,
                  bool on_loopback, struct err *err);

/* The same at these addresses alone: the first of loopback, which all ranks of a host share, and as
 * many others as can be told to the other ranks. IPv6 is left out where there is none. */
int listener_open_at(struct listener *listener, const struct port_range *range, int rank,
                     const struct interfaces *interfaces, struct err *err);

/* Closes the sockets, the unix socket too. */
void listener_close(struct listener *listener);

/* Of an opened listener: the unix socket. If it fails, there is none, and the rest is as it was. */
int listener_open_unix(struct listener *listener, struct err *err);

#endif
