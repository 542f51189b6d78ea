/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's own port, and its unix socket; see listener.h.
 *
 *   open a socket (IPv6 that takes IPv4, too; IPv4 where there is no IPv6), bind, listen
 * A port that is taken is known only after listen(): two sockets that set SO_REUSEADDR may both bind
 * it. */
#include "lib/link/listener.h"

#include "lib/base/auth.h"
#include "lib/base/env_names.h"
#include "lib/link/descriptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum {
    CHOSEN_TRIES = 16
}; /* when the system chooses a port that another socket is about to take */

static void set_address(struct socket_address *address, int family, bool on_loopback, uint16_t port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    in.sin_addr.s_addr = htonl(on_loopback ? INADDR_LOOPBACK : INADDR_ANY);
    *address = (struct socket_address){ 0 };
    address->length = family == AF_INET ? sizeof in : sizeof in6;
    memcpy(&address->storage, family == AF_INET ? (void *)&in : (void *)&in6, address->length);
}

static bool set_options(int fd, int family)
{
    int on = 1, off = 0;
    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
           (family == AF_INET || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0);
}

static uint16_t port_of(const struct socket_address *address)
{
    return ntohs(address->storage.ss_family == AF_INET
                     ? ((const struct sockaddr_in *)&address->storage)->sin_port
                     : ((const struct sockaddr_in6 *)&address->storage)->sin6_port);
}

/* True, or false and errno. */
static bool take_port(struct listener *listener, int family, uint16_t port)
{
    struct socket_address address;
    set_address(&address, family, listener->on_loopback, port);
    listener->fd = descriptor_socket(family);
    if (listener->fd < 0)
        return false;
    if (set_options(listener->fd, family) &&
        bind(listener->fd, (struct sockaddr *)&address.storage, address.length) == 0 &&
        listen(listener->fd, SOMAXCONN) == 0 && socket_local_address(listener->fd, &address)) {
        listener->port = port_of(&address);
        listener->has_ipv6 = family == AF_INET6;
        return true;
    }
    int error = errno;
    descriptor_close(listener->fd);
    listener->fd = -1;
    errno = error;
    return false;
}

static bool is_without_ipv6(int error)
{
    return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == EPROTONOSUPPORT ||
           error == ENOPROTOOPT || error == EINVAL;
}

static bool take(struct listener *listener, uint16_t port)
{
    if (!listener->on_loopback) {
        if (take_port(listener, AF_INET6, port))
            return true;
        if (!is_without_ipv6(errno))
            return false;
    }
    return take_port(listener, AF_INET, port);
}

static int open_any(struct listener *listener, struct err *err)
{
    for (int i = 0; i < CHOSEN_TRIES; i++) {
        if (take(listener, 0))
            return HVD_OK;
        if (errno != EADDRINUSE)
            break;
    }
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "listen for the other ranks");
}

int listener_open(struct listener *listener, const struct port_range *range, int rank,
                  bool on_loopback, struct err *err)
{
    *listener = (struct listener){ .fd = -1, .on_loopback = on_loopback, .unix_fd = -1 };
    if (range->first == 0)
        return open_any(listener, err);
    int count = range->last - range->first + 1;
    for (int i = 0; i < count; i++) {
        if (take(listener, (uint16_t)(range->first + (rank + i) % count)))
            return HVD_OK;
        if (errno != EADDRINUSE && errno != EACCES)
            break;
    }
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "%s: no port from %d to %d is free to listen at",
                      ENV_PORT_RANGE, range->first, range->last);
}

/* ---- the unix socket ---- */

static void make_name(char text[SOCKET_ADDRESS_TEXT])
{
    enum { NAME_BYTES = 16 };
    unsigned char nonce[NONCE_SIZE];
    nonce_generate(nonce);
    int used = snprintf(text, SOCKET_ADDRESS_TEXT, "unix:");
    for (int i = 0; i < NAME_BYTES; i++)
        used += snprintf(text + used, SOCKET_ADDRESS_TEXT - (size_t)used, "%02x", nonce[i]);
}

int listener_open_unix(struct listener *listener, struct err *err)
{
    char text[SOCKET_ADDRESS_TEXT];
    struct socket_address address;
    make_name(text);
    int rc = socket_address_parse(&address, text, err);
    if (rc < 0)
        return rc;
    int fd = descriptor_socket(AF_UNIX);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address.storage, address.length) < 0 ||
        listen(fd, SOMAXCONN) < 0) {
        fail_errno(err, HVD_ERR_SYSTEM, errno, "listen for the other ranks of this host");
        descriptor_close(fd);
        return HVD_ERR_SYSTEM;
    }
    listener->unix_fd = fd;
    memcpy(listener->unix_address, text, sizeof text);
    return HVD_OK;
}
