/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's own port, and its unix socket; see listener.h.
 *
 *   open a socket (IPv6 that takes IPv4, too; IPv4 where there is no IPv6), bind, listen
 * Only listen() shows that a port is taken: two sockets that set SO_REUSEADDR may both bind it. */
#include "lib/link/listener.h"

#include "lib/base/auth.h"
#include "lib/base/descriptor.h"
#include "lib/base/env_names.h"
#include "lib/link/congestion.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

enum {
    CHOSEN_TRIES = 16
}; /* when the system chooses a port that another socket is about to take */

static void set_port(struct socket_address *address, uint16_t port)
{
    if (address->storage.ss_family == AF_INET)
        ((struct sockaddr_in *)&address->storage)->sin_port = htons(port);
    else
        ((struct sockaddr_in6 *)&address->storage)->sin6_port = htons(port);
    address->length = address->storage.ss_family == AF_INET ? sizeof(struct sockaddr_in)
                                                            : sizeof(struct sockaddr_in6);
}

static struct socket_address any_address(int family, bool on_loopback)
{
    struct socket_address address = { .storage.ss_family = (sa_family_t)family };
    if (on_loopback)
        ((struct sockaddr_in *)&address.storage)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static bool listener_set_options(int fd, int family)
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

/* A socket, or -1 and errno. If the port of `address` was 0, `address` then has the port. */
static int take_address(struct socket_address *address)
{
    int fd = descriptor_socket(address->storage.ss_family);
    if (fd < 0)
        return -1;
    congestion_begin(fd);
    if (listener_set_options(fd, address->storage.ss_family) &&
        bind(fd, (struct sockaddr *)&address->storage, address->length) == 0 &&
        listen(fd, SOMAXCONN) == 0 && socket_local_address(fd, address))
        return fd;
    int error = errno;
    descriptor_close(fd);
    errno = error;
    return -1;
}

/* True, or false and errno. */
static bool take_port(struct listener *listener, int family, uint16_t port)
{
    struct socket_address address = any_address(family, listener->on_loopback);
    set_port(&address, port);
    listener->fd = take_address(&address);
    if (listener->fd < 0)
        return false;
    listener->port = port_of(&address);
    listener->has_ipv6 = family == AF_INET6;
    return true;
}

static bool is_without_ipv6(int error)
{
    return error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == EPROTONOSUPPORT ||
           error == ENOPROTOOPT || error == EINVAL;
}

static bool take_all_networks(struct listener *listener, uint16_t port)
{
    if (!listener->on_loopback) {
        if (take_port(listener, AF_INET6, port))
            return true;
        if (!is_without_ipv6(errno))
            return false;
    }
    return take_port(listener, AF_INET, port);
}

/* ---- at chosen addresses ---- */

static void keep_socket(struct listener *listener, int fd, uint16_t port)
{
    if (listener->fd >= 0) {
        listener->others[listener->nothers++] = fd;
        return;
    }
    listener->fd = fd;
    listener->port = port;
}

/* Once the port is known, it is the same at all addresses. */
static bool take_chosen(struct listener *listener, const struct interface *interface, uint16_t port)
{
    struct socket_address address = { .storage = interface->address };
    set_port(&address, listener->fd >= 0 ? listener->port : port);
    int fd = take_address(&address);
    if (fd >= 0) {
        keep_socket(listener, fd, port_of(&address));
        return true;
    }
    bool spared = address.storage.ss_family == AF_INET6 && is_without_ipv6(errno);
    listener->has_ipv6 &= !spared;
    return spared;
}

static int count_sockets(const struct listener *listener)
{
    return (listener->fd >= 0) + listener->nothers;
}

static bool take_all_chosen(struct listener *listener, const struct interfaces *interfaces,
                            uint16_t port)
{
    bool has_loopback = false;
    listener->has_ipv6 = true;
    for (int i = 0; i < interfaces->count; i++) {
        const struct interface *interface = &interfaces->at[i];
        bool is_loopback = address_is_loopback(&interface->address);
        bool has_room = listener->nothers < LISTENER_OTHERS_MAX - !has_loopback;
        if (is_loopback ? has_loopback : !has_room)
            continue;
        int before = count_sockets(listener);
        if (!take_chosen(listener, interface, port)) {
            int error = errno;
            listener_close(listener);
            errno = error;
            return false;
        }
        has_loopback |= is_loopback && count_sockets(listener) > before;
    }
    errno = EADDRNOTAVAIL;
    return listener->fd >= 0;
}

/* ---- which port ---- */

static bool listener_take(struct listener *listener, const struct interfaces *chosen, uint16_t port)
{
    return chosen ? take_all_chosen(listener, chosen, port) : take_all_networks(listener, port);
}

static int open_any(struct listener *listener, const struct interfaces *chosen, struct err *err)
{
    for (int i = 0; i < CHOSEN_TRIES; i++) {
        if (listener_take(listener, chosen, 0))
            return HVD_OK;
        if (errno != EADDRINUSE)
            break;
    }
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "listen for the other ranks");
}

static int open_port(struct listener *listener, const struct port_range *range, int rank,
                     const struct interfaces *chosen, struct err *err)
{
    if (range->first == 0)
        return open_any(listener, chosen, err);
    int count = range->last - range->first + 1;
    for (int i = 0; i < count; i++) {
        if (listener_take(listener, chosen, (uint16_t)(range->first + (rank + i) % count)))
            return HVD_OK;
        if (errno != EADDRINUSE && errno != EACCES)
            break;
    }
    return fail_errno(err, HVD_ERR_SYSTEM, errno, "%s: no port from %d to %d is free to listen at",
                      ENV_PORT_RANGE, range->first, range->last);
}

int listener_open(struct listener *listener, const struct port_range *range, int rank,
                  bool on_loopback, struct err *err)
{
    *listener = (struct listener){ .fd = -1, .on_loopback = on_loopback, .unix_fd = -1 };
    return open_port(listener, range, rank, NULL, err);
}

int listener_open_at(struct listener *listener, const struct port_range *range, int rank,
                     const struct interfaces *interfaces, struct err *err)
{
    *listener = (struct listener){ .fd = -1, .unix_fd = -1 };
    return open_port(listener, range, rank, interfaces, err);
}

void listener_close(struct listener *listener)
{
    descriptor_close(listener->fd);
    descriptor_close(listener->unix_fd);
    while (listener->nothers > 0)
        descriptor_close(listener->others[--listener->nothers]);
    listener->fd = listener->unix_fd = -1;
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
