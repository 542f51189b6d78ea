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
    char host[JOIN_HOST_MAX];     /* what this host is called in the job */
    enum transport transport;     /* to the ranks of this host; the caller's to change */
    bool limited;                 /* by a choice: other addresses of this host let nobody in */
    struct interfaces interfaces; /* that are used: what was chosen, or all; and loopback */
};

/* `all` as interfaces_read() gives them; `choice` of HVD_NETWORK_INTERFACES, or "". */
int network_init(struct network *network, const char *host, const struct interfaces *all,
                 const char *choice, struct err *err);

/* Is a rank on this host? */
bool network_is_same_host(const struct network *network, const struct join_peer *peer);

/* Where a listener of this rank can be dialled, best first, then by the ranks of this host: over
 * loopback, and its unix socket; both are among them even if there are too many. */
void network_addresses(const struct network *network, const struct listener *listener,
                       struct join_addresses *addresses);

/* Puts the addresses of `peer` in the order in which they are to be tried, and leaves out those
 * that are not: unix sockets of other hosts, and what HVD_TRANSPORT does not want. */
void network_order(const struct network *network, struct join_peer *peer);

/* May a connection come in that was made to this address of ours? */
bool network_admits(const struct network *network, const struct sockaddr_storage *address);

#endif
