/* SPDX-License-Identifier: Apache-2.0 */
/* ADDRESS:PORT:
 *   take the port off at the last colon, the brackets off an IPv6 address, read both as numbers.
 * Fails on a name, on a port that is not 0 to 65535, on IPv6 without brackets or with an interface
 * that is not there, and on multicast and broadcast. */
#include "rendezvous/tcp/tcp_address.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { PORT_DIGITS = 5, PORT_MAX = 65535 };

#define EXPECTED "ADDRESS:PORT, such as 127.0.0.1:29400 or [::]:29400"

/* Returns the number, or -1 if the text is not a port. */
static int parse_port(const char *text)
{
    size_t length = strlen(text);
    if (length == 0 || length > PORT_DIGITS || strspn(text, "0123456789") < length)
        return -1;
    int port = atoi(text);
    return port <= PORT_MAX ? port : -1;
}

/* Returns 0, or another number if the text is not an address. */
static int tcp_address_parse_host(struct sockaddr_storage *address, const char *host, int port)
{
    char plain[TCP_ADDRESS_SIZE];
    size_t length = strlen(host);
    if (strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (host[0] != '[')
        return uv_ip4_addr(host, port, (struct sockaddr_in *)address);
    if (host[length - 1] != ']')
        return -1;
    snprintf(plain, sizeof plain, "%.*s", (int)length - 2, host + 1);
    return uv_ip6_addr(plain, port, (struct sockaddr_in6 *)address);
}

/* "%eth9", which libuv leaves out if it is not there. */
static bool has_lost_its_zone(const struct sockaddr_storage *address, const char *host)
{
    return strchr(host, '%') && ((const struct sockaddr_in6 *)address)->sin6_scope_id == 0;
}

/* Multicast or broadcast: bind() takes them, but nobody can connect. */
static bool is_of_many(const struct sockaddr_storage *address)
{
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    in_addr_t in4 = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
    if (address->ss_family == AF_INET6 && !IN6_IS_ADDR_V4MAPPED(in6))
        return IN6_IS_ADDR_MULTICAST(in6);
    if (address->ss_family == AF_INET6)
        memcpy(&in4, in6->s6_addr + 12, sizeof in4);
    return IN_MULTICAST(ntohl(in4)) || in4 == INADDR_BROADCAST;
}

int tcp_address_parse(struct sockaddr_storage *address, const char *text, struct err *err)
{
    char host[TCP_ADDRESS_SIZE], quoted[QUOTED_SIZE];
    const char *colon = strrchr(text, ':');
    quote_token(quoted, sizeof quoted, text, strlen(text));
    *address = (struct sockaddr_storage){ 0 };
    if (!colon)
        return fail(err, HVD_ERR_INVALID, "no port: '%s' (expected " EXPECTED ")", quoted);
    int port = parse_port(colon + 1);
    if (port < 0)
        return fail(err, HVD_ERR_INVALID, "not a port, 0 to 65535: '%s' (expected " EXPECTED ")",
                    quoted);
    size_t length = (size_t)(colon - text);
    if (length < sizeof host) {
        memcpy(host, text, length);
        host[length] = '\0';
    }
    if (length >= sizeof host || tcp_address_parse_host(address, host, port) != 0)
        return fail(err, HVD_ERR_INVALID,
                    "not a numeric address: '%s' (expected " EXPECTED
                    "; of the names only localhost)",
                    quoted);
    if (has_lost_its_zone(address, host))
        return fail(err, HVD_ERR_INVALID, "no such interface here: '%s' (expected " EXPECTED ")",
                    quoted);
    if (is_of_many(address))
        return fail(err, HVD_ERR_INVALID,
                    "not an address of one machine: '%s' (expected " EXPECTED ")", quoted);
    return HVD_OK;
}

void tcp_address_format(char text[TCP_ADDRESS_SIZE], const struct sockaddr_storage *address)
{
    char host[INET6_ADDRSTRLEN] = "?", zone[IF_NAMESIZE];
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
    int port = tcp_address_port(address);
    if (address->ss_family == AF_INET) {
        uv_ip4_name((const struct sockaddr_in *)address, host, sizeof host);
        snprintf(text, TCP_ADDRESS_SIZE, "%s:%d", host, port);
        return;
    }
    uv_ip6_name(in6, host, sizeof host);
    bool scoped = in6->sin6_scope_id != 0 && if_indextoname(in6->sin6_scope_id, zone);
    snprintf(text, TCP_ADDRESS_SIZE, "[%s%s%s]:%d", host, scoped ? "%" : "", scoped ? zone : "",
             port);
}

socklen_t tcp_address_length(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* The port lies at the same place in both. */
int tcp_address_port(const struct sockaddr_storage *address)
{
    return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

bool tcp_address_is_loopback(const struct sockaddr_storage *address)
{
    const struct in6_addr *in6 = &((const struct sockaddr_in6 *)address)->sin6_addr;
    if (address->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(in6) || (IN6_IS_ADDR_V4MAPPED(in6) && in6->s6_addr[12] == 127);
}
