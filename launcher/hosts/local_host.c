/* SPDX-License-Identifier: Apache-2.0 */
/* Is a host this machine? The cheapest check comes first:
 *   localhost and the own name, then the address as a number.
 * Nothing fails: a host about which nothing can be found out is not local. */
#include "launcher/hosts/local_host.h"

#include "launcher/base/xalloc.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HOST_NAME_BYTES = 256 };

static struct ip_address from_ipv6(const struct in6_addr *in)
{
    struct ip_address address = { .family = AF_INET6 };
    if (IN6_IS_ADDR_V4MAPPED(in)) {
        address.family = AF_INET;
        memcpy(address.bytes, in->s6_addr + 12, 4);
    } else {
        memcpy(address.bytes, in->s6_addr, 16);
    }
    return address;
}

static struct ip_address from_ipv4(const struct in_addr *in)
{
    struct ip_address address = { .family = AF_INET };
    memcpy(address.bytes, in, 4);
    return address;
}

/* False for a family other than IPv4 and IPv6. */
static bool from_sockaddr(struct ip_address *address, const struct sockaddr *from)
{
    if (from && from->sa_family == AF_INET)
        *address = from_ipv4(&((const struct sockaddr_in *)(const void *)from)->sin_addr);
    else if (from && from->sa_family == AF_INET6)
        *address = from_ipv6(&((const struct sockaddr_in6 *)(const void *)from)->sin6_addr);
    else
        return false;
    return true;
}

static int count_interfaces(const struct ifaddrs *interfaces)
{
    int count = 0;
    for (; interfaces; interfaces = interfaces->ifa_next)
        count++;
    return count;
}

static void collect_addresses(struct local_host *self)
{
    struct ifaddrs *interfaces = NULL;
    if (getifaddrs(&interfaces) < 0)
        return;
    self->addresses = xcalloc((size_t)count_interfaces(interfaces), sizeof *self->addresses);
    for (const struct ifaddrs *at = interfaces; at; at = at->ifa_next)
        if (from_sockaddr(&self->addresses[self->address_count], at->ifa_addr))
            self->address_count++;
    freeifaddrs(interfaces);
}

void local_host_init(struct local_host *self)
{
    char name[HOST_NAME_BYTES] = "";
    *self = (struct local_host){ 0 };
    if (gethostname(name, sizeof name - 1) < 0)
        name[0] = '\0';
    self->name = xstrdup(name);
}

void local_host_fini(struct local_host *self)
{
    free(self->name);
    free(self->addresses);
    *self = (struct local_host){ 0 };
}

/* "localhost", the full name node1.example.org, or its first label node1. */
static bool is_own_name(const struct local_host *self, const char *host)
{
    size_t length = strlen(host);
    size_t short_length = strcspn(self->name, ".");
    if (strcasecmp(host, "localhost") == 0)
        return true;
    return length > 0 && (strcasecmp(host, self->name) == 0 ||
                          (length == short_length && strncasecmp(host, self->name, length) == 0));
}

static bool is_loopback(const struct ip_address *address)
{
    static const unsigned char one[16] = { [15] = 1 };
    if (address->family == AF_INET)
        return address->bytes[0] == 127;
    return memcmp(address->bytes, one, sizeof one) == 0;
}

static bool is_own_address(struct local_host *self, const struct ip_address *address)
{
    if (is_loopback(address))
        return true;
    if (!self->addresses)
        collect_addresses(self);
    for (int i = 0; i < self->address_count; i++)
        if (self->addresses[i].family == address->family &&
            memcmp(self->addresses[i].bytes, address->bytes, sizeof address->bytes) == 0)
            return true;
    return false;
}

/* Parses a numeric address, with or without brackets, ignoring its zone. */
static bool read_address(struct ip_address *address, const char *host)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr ipv4;
    struct in6_addr ipv6;
    bool bracket = *host == '[';
    size_t length = strcspn(host + bracket, "]%");
    if (length >= sizeof text)
        return false;
    memcpy(text, host + bracket, length);
    text[length] = '\0';
    if (inet_pton(AF_INET, text, &ipv4) == 1)
        *address = from_ipv4(&ipv4);
    else if (inet_pton(AF_INET6, text, &ipv6) == 1)
        *address = from_ipv6(&ipv6);
    else
        return false;
    return true;
}

bool local_host_is(struct local_host *self, const char *host)
{
    struct ip_address address;
    return is_own_name(self, host) ||
           (read_address(&address, host) && is_own_address(self, &address));
}

/* 0.0.0.0 and :: lead here, though no interface has them. */
static bool is_unspecified(const struct ip_address *address)
{
    static const unsigned char zero[sizeof address->bytes];
    return memcmp(address->bytes, zero, sizeof zero) == 0;
}

bool local_host_is_not(struct local_host *self, const char *host)
{
    struct ip_address address;
    return read_address(&address, host) && !is_unspecified(&address) &&
           !is_own_address(self, &address) && self->address_count > 0;
}

bool local_host_has_address(struct local_host *self, const struct sockaddr *address)
{
    struct ip_address ip;
    return from_sockaddr(&ip, address) && is_own_address(self, &ip);
}
