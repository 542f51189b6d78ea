/* SPDX-License-Identifier: Apache-2.0 */
/* The network interfaces of this machine at which other ranks may connect, and a choice among them.
 *
 *   choice := item [ "," item ]...      item := NAME | ADDRESS | ADDRESS "/" BITS
 *
 * An interface is usable when it is up, and has an IPv4 address or an IPv6 address that is not
 * link-local. Ordinary interfaces come first, in the kernel's order, IPv4 before IPv6 within an
 * interface. Then come interfaces without a carrier, and the bridges and tunnels of containers and
 * virtual machines (docker0, virbr0, br-*, veth*, cni0, lxc*, ...), which have the same address on
 * every machine. Loopback comes last. An address that two interfaces share is listed once. */
#ifndef LIB_BASE_INTERFACES_H
#define LIB_BASE_INTERFACES_H

#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum { INTERFACES_MAX = 64, INTERFACE_NAME_SIZE = 16, INTERFACE_CHOICE_SIZE = 1024 };

enum interface_kind { INTERFACE_REAL, INTERFACE_VIRTUAL, INTERFACE_LOOPBACK };

/* An address of an interface. */
struct interface {
    char name[INTERFACE_NAME_SIZE];
    enum interface_kind kind;
    struct sockaddr_storage address;
    unsigned prefix_bits; /* of its network */
};

struct interfaces {
    int count;
    struct interface at[INTERFACES_MAX];
};

/* The interfaces of this machine, in the order above. HVD_ERR_SYSTEM. */
int interfaces_read(struct interfaces *interfaces, struct err *err);

/* Like interfaces_read(), from a list of getifaddrs(3), or one that a test makes. Pure. */
struct ifaddrs;
void interfaces_sort_out(struct interfaces *interfaces, const struct ifaddrs *list);

/* Keeps the interfaces that the choice names, in its order; an empty choice keeps all.
 * HVD_ERR_INVALID for an item that is malformed, or matches nothing: "no interface 'ib0' (have:
 * eth0 192.0.2.1, lo 127.0.0.1)". Pure. */
int interfaces_choose(struct interfaces *interfaces, const char *choice, struct err *err);

/* The interface that has this address, a number without a zone; or NULL. Pure. */
const struct interface *interfaces_find(const struct interfaces *interfaces, const char *address);

/* The address as a number, without a port. */
void interface_address(const struct interface *interface, char *text, size_t size);

/* Checks the syntax of a choice. HVD_ERR_INVALID names the malformed item, and what was
 * expected. */
int interfaces_check_choice(const char *choice, struct err *err);

/* True if a checked choice can only name loopback, on any machine. */
bool interfaces_choice_is_loopback(const char *choice);

/* Properties of addresses; IPv4 that is mapped into IPv6 counts as IPv4: the first `bits` are the
 * same; all bits are the same; the address leads to this host from anywhere on it. */
bool address_in_network(const struct sockaddr_storage *address,
                        const struct sockaddr_storage *network, unsigned bits);
bool address_equal(const struct sockaddr_storage *left, const struct sockaddr_storage *right);
bool address_is_loopback(const struct sockaddr_storage *address);

#endif
