/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's decisions about networks: which addresses it publishes, in which order it tries the
 * addresses of another rank, and which connections it accepts.
 *
 *   on the same host: its unix socket, loopback, then the others; as far as HVD_TRANSPORT wants
 *   between hosts: addresses in a network of a real interface of this host; other addresses;
 *     addresses that lead to virtual interfaces of this host, or to this host itself, which many
 *     machines share; loopback. Equal addresses stay in the order of the other rank's list.
 *
 * Fails only when the environment chooses interfaces that do not exist (HVD_ERR_ENVIRONMENT), or
 * the kernel gives no list of interfaces (HVD_ERR_SYSTEM). */
#ifndef LIB_LINK_NETWORK_H
#define LIB_LINK_NETWORK_H

#include "lib/base/interfaces.h"
#include "lib/base/join_protocol.h"
#include "lib/base/transport.h"
#include "lib/link/listener.h"

struct network {
    char host[JOIN_HOST_MAX];     /* the name of this host in the job */
    enum transport transport;     /* to the ranks of this host; the caller's to change */
    bool limited;                 /* by a choice: connections to other addresses are refused */
    struct interfaces interfaces; /* the interfaces in use: the chosen ones, or all; and loopback */
};

/* `all` as from interfaces_read(); `choice` is HVD_NETWORK_INTERFACES, or "". */
int network_init(struct network *network, const char *host, const struct interfaces *all,
                 const char *choice, struct err *err);

/* True if a rank is on this host. */
bool network_is_same_host(const struct network *network, const struct join_peer *peer);

/* The addresses of a listener of this rank, best first, then those for ranks of this host: loopback
 * and the unix socket, which are included even if there are too many addresses. */
void network_addresses(const struct network *network, const struct listener *listener,
                       struct join_addresses *addresses);

/* Puts the addresses of `peer` in the order of trying, and removes those that are not tried: unix
 * sockets of other hosts, and addresses that HVD_TRANSPORT excludes. */
void network_order(const struct network *network, struct join_peer *peer);

/* True if a connection to this address of ours is accepted. */
bool network_admits(const struct network *network, const struct sockaddr_storage *address);

#endif
