/* SPDX-License-Identifier: Apache-2.0 */
/* Is a host this machine?
 *
 * Yes for "localhost", the machine's own name (as it is and up to its first dot), a loopback
 * address and an address of one of its interfaces. No call blocks: a name that only the resolver
 * knows to be ours is recognised after it has been resolved (local_host_has_address). */
#ifndef LAUNCHER_HOSTS_LOCAL_HOST_H
#define LAUNCHER_HOSTS_LOCAL_HOST_H

#include <stdbool.h>
#include <sys/socket.h>

/* An IPv4 or IPv6 address in network order; an IPv4 address inside IPv6 is kept as IPv4. */
struct ip_address {
    int family; /* AF_INET: bytes[0, 4); AF_INET6: all */
    unsigned char bytes[16];
};

/* The facts about this machine. local_host_init() asks the system; a test fills the struct
 * itself. */
struct local_host {
    char *name;                   /* owned; the machine's own, "" if unknown */
    struct ip_address *addresses; /* owned; of its interfaces; NULL until they are needed */
    int address_count;
};

/* Asks the system for the name at once, and for addresses when they are needed first. Facts that
 * cannot be found out stay empty; never fails. */
void local_host_init(struct local_host *self);
void local_host_fini(struct local_host *self);

/* `host` is a name or a numeric address; an IPv6 address with or without brackets, zone ignored. */
bool local_host_is(struct local_host *self, const char *host);

/* `host` is a numeric address that this machine does not have. False for any name: only ssh and the
 * resolver know what it means. */
bool local_host_is_not(struct local_host *self, const char *host);

/* For an address to which a name was resolved. */
bool local_host_has_address(struct local_host *self, const struct sockaddr *address);

#endif
