/* SPDX-License-Identifier: Apache-2.0 */
/* Binding to a TCP port; see port.h. */
#include "launcher/base/port.h"

#include "lib/base/descriptor.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

static int port_try(int family, const void *address, socklen_t length, bool again)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), off = 0, on = 1;
    if (fd < 0)
        return -1;
    if (family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (again)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address, length) == 0)
        return fd;
    int errnum = errno;
    descriptor_close(fd);
    errno = errnum;
    return -1;
}

int port_bind(uint16_t port, bool again)
{
    const struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    const struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = port_try(AF_INET6, &six, sizeof six, again);
    if (fd < 0 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) /* without IPv6 */
        fd = port_try(AF_INET, &four, sizeof four, again);
    return fd;
}

uint16_t port_of_socket(int fd)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}
