/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions about networks; see network.h. No I/O. */
#include "lib/link/network.h"

#include "lib/base/env_names.h"
#include "lib/link/socket.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

/* ---- the interfaces in use ---- */

static bool has_address(const struct interfaces *interfaces, const struct sockaddr_storage *address)
{
    for (int i = 0; i < interfaces->count; i++)
        if (address_equal(&interfaces->at[i].address, address))
            return true;
    return false;
}

/* Ranks of one host connect over loopback, whatever was chosen. */
static void add_loopback(struct interfaces *interfaces, const struct interfaces *all)
{
    for (int i = 0; i < all->count; i++)
        if (address_is_loopback(&all->at[i].address) && interfaces->count < INTERFACES_MAX &&
            !has_address(interfaces, &all->at[i].address))
            interfaces->at[interfaces->count++] = all->at[i];
}

int network_init(struct network *network, const char *host, const struct interfaces *all,
                 const char *choice, struct err *err)
{
    snprintf(network->host, sizeof network->host, "%s", host);
    network->transport = TRANSPORT_AUTO;
    network->limited = *choice;
    network->interfaces = *all;
    struct err reason;
    if (interfaces_choose(&network->interfaces, choice, &reason) < 0)
        return fail(err, HVD_ERR_ENVIRONMENT, "%s on %s: %s", ENV_NETWORK_INTERFACES, host,
                    reason.text);
    add_loopback(&network->interfaces, all);
    return HVD_OK;
}

bool network_admits(const struct network *network, const struct sockaddr_storage *address)
{
    return !network->limited || address_is_loopback(address) ||
           has_address(&network->interfaces, address);
}

/* ---- the addresses of this rank ---- */

static bool is_reached(const struct listener *listener, const struct interface *interface)
{
    if (interface->address.ss_family == AF_INET6 && !listener->has_ipv6)
        return false;
    return !listener->on_loopback ||
           (interface->kind == INTERFACE_LOOPBACK && interface->address.ss_family == AF_INET);
}

static void offer(struct join_addresses *addresses, const struct interface *interface,
                  uint16_t port)
{
    struct socket_address address = { .storage = interface->address };
    if (address.storage.ss_family == AF_INET)
        ((struct sockaddr_in *)&address.storage)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)&address.storage)->sin6_port = htons(port);
    socket_address_format(&address, addresses->text[addresses->count++]);
}

static void offer_text(struct join_addresses *addresses, const char *text)
{
    snprintf(addresses->text[addresses->count++], JOIN_ADDRESS_MAX, "%s", text);
}

void network_addresses(const struct network *network, const struct listener *listener,
                       struct join_addresses *addresses)
{
    const struct interfaces *interfaces = &network->interfaces;
    const struct interface *loopback = NULL;
    bool has_unix = listener->unix_address[0] != '\0';
    int room = JOIN_ADDRESSES_MAX - 1 - has_unix;
    addresses->count = 0;
    for (int i = 0; i < interfaces->count; i++) {
        const struct interface *interface = &interfaces->at[i];
        if (!is_reached(listener, interface))
            continue;
        if (address_is_loopback(&interface->address))
            loopback = loopback ? loopback : interface; /* one is enough */
        else if (addresses->count < room)
            offer(addresses, interface, listener->port);
    }
    if (loopback)
        offer(addresses, loopback, listener->port);
    if (has_unix)
        offer_text(addresses, listener->unix_address);
}

/* ---- the order of another rank's addresses ---- */

enum preference {
    OWN_SOCKET,
    OWN_LOOPBACK,
    OWN_NETWORK,
    ELSEWHERE,
    OWN_VIRTUAL_NETWORK,
    OTHER_LOOPBACK,
    NOT_AT_ALL
};

/* The interface that leads there directly, as routing would choose it, or NULL. */
static const struct interface *interface_to(const struct network *network,
                                            const struct sockaddr_storage *address)
{
    const struct interface *best = NULL;
    for (int i = 0; i < network->interfaces.count; i++) {
        const struct interface *interface = &network->interfaces.at[i];
        if (address_in_network(address, &interface->address, interface->prefix_bits) &&
            (!best || interface->prefix_bits > best->prefix_bits))
            best = interface;
    }
    return best;
}

static enum preference prefer(const struct network *network, bool same_host, const char *text)
{
    struct socket_address address;
    if (socket_address_is_unix(text))
        return same_host && network->transport != TRANSPORT_TCP ? OWN_SOCKET : NOT_AT_ALL;
    if (same_host && network->transport == TRANSPORT_SHM)
        return NOT_AT_ALL;
    if (socket_address_parse(&address, text, NULL) < 0)
        return OTHER_LOOPBACK;
    if (address_is_loopback(&address.storage))
        return same_host ? OWN_LOOPBACK : OTHER_LOOPBACK;
    const struct interface *way = interface_to(network, &address.storage);
    if (!way)
        return ELSEWHERE;
    bool leads_to_us = !same_host && has_address(&network->interfaces, &address.storage);
    return way->kind == INTERFACE_REAL && !leads_to_us ? OWN_NETWORK : OWN_VIRTUAL_NETWORK;
}

bool network_is_same_host(const struct network *network, const struct join_peer *peer)
{
    return strcmp(network->host, peer->host) == 0;
}

void network_order(const struct network *network, struct join_peer *peer)
{
    struct join_addresses said = peer->addresses;
    bool same_host = network_is_same_host(network, peer);
    int count = 0;
    for (int preference = OWN_SOCKET; preference < NOT_AT_ALL; preference++)
        for (int i = 0; i < said.count; i++)
            if (prefer(network, same_host, said.text[i]) == (enum preference)preference)
                memcpy(peer->addresses.text[count++], said.text[i], JOIN_ADDRESS_MAX);
    peer->addresses.count = count;
}
