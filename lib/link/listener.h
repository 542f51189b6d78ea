/* SPDX-License-Identifier: Apache-2.0 */
/* The port at which a rank is dialled: one for all networks, IPv4 and IPv6, or on loopback alone when
 * all ranks are on this host.
 *
 * Fails (HVD_ERR_SYSTEM) when no port can be had; one that names the range if there is one. */
#ifndef LIB_LINK_LISTENER_H
#define LIB_LINK_LISTENER_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Both included; { 0, 0 }: whatever the system chooses. */
struct port_range {
    int first, last;
};

struct listener {
    int fd; /* the caller's to close; -1 on failure */
    uint16_t port;
    bool has_ipv6, on_loopback;
};

/* A range is tried once around, beginning at a port that differs by `rank`, so that the ranks of a
 * host do not run into each other. */
int listener_open(struct listener *listener, const struct port_range *range, int rank,
                  bool on_loopback, struct err *err);

#endif
