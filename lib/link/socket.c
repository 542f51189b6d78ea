/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets; see socket.h. errno becomes a status here and nowhere above. */
#include "lib/link/socket.h"

#include "lib/link/descriptor.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int parse_port(const char *text, uint16_t *port)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || value < 1 || value > 65535)
        return -1;
    *port = (uint16_t)value;
    return 0;
}

static int parse_ipv4(struct socket_address *address, const char *host, uint16_t port)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    if (inet_pton(AF_INET, host, &in.sin_addr) != 1)
        return -1;
    memcpy(&address->storage, &in, sizeof in);
    address->length = sizeof in;
    return 0;
}

static int parse_ipv6(struct socket_address *address, char *host, uint16_t port)
{
    struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    size_t length = strlen(host);
    if (length < 2 || host[length - 1] != ']')
        return -1;
    host[length - 1] = '\0';
    if (inet_pton(AF_INET6, host + 1, &in6.sin6_addr) != 1)
        return -1;
    memcpy(&address->storage, &in6, sizeof in6);
    address->length = sizeof in6;
    return 0;
}

int socket_address_parse(struct socket_address *address, const char *text, struct err *err)
{
    char host[SOCKET_ADDRESS_TEXT];
    const char *colon = strrchr(text, ':');
    uint16_t port;
    *address = (struct socket_address){ 0 };
    if (colon && (size_t)(colon - text) < sizeof host && parse_port(colon + 1, &port) == 0) {
        snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
        if ((host[0] == '[' ? parse_ipv6(address, host, port) : parse_ipv4(address, host, port)) ==
            0)
            return HVD_OK;
    }
    char quoted[QUOTED_SIZE];
    return fail(err, HVD_ERR_PROTOCOL, "'%s' is not a numeric address and port",
                quote_token(quoted, sizeof quoted, text, strlen(text)));
}

void socket_address_format(const struct socket_address *address, char text[SOCKET_ADDRESS_TEXT])
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->storage.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->storage;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(text, SOCKET_ADDRESS_TEXT, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&address->storage;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, SOCKET_ADDRESS_TEXT, "%s:%u", host, ntohs(in->sin_port));
    }
}

int socket_connect(const struct socket_address *address, struct err *err)
{
    int fd = descriptor_socket(address->storage.ss_family);
    if (fd < 0)
        return fail_errno(err, errno == EAFNOSUPPORT ? HVD_ERR_PEER_LOST : HVD_ERR_SYSTEM, errno,
                          "socket");
    if (connect(fd, (const struct sockaddr *)&address->storage, address->length) == 0 ||
        errno == EINPROGRESS || errno == EINTR)
        return fd;
    fail_errno(err, HVD_ERR_PEER_LOST, errno, "connect");
    descriptor_close(fd);
    return HVD_ERR_PEER_LOST;
}

int socket_connect_result(int fd, struct err *err)
{
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
        error = errno;
    return error ? fail_errno(err, HVD_ERR_PEER_LOST, error, "connect") : HVD_OK;
}

bool socket_local_address(int fd, struct socket_address *where)
{
    where->length = sizeof where->storage;
    return getsockname(fd, (struct sockaddr *)&where->storage, &where->length) == 0;
}

void socket_tune(int fd, const struct socket_keepalive *keepalive)
{
    static const struct socket_keepalive usual = { .idle_s = 1, .interval_s = 1, .probes = 3 };
    if (!keepalive)
        keepalive = &usual;
    const struct {
        int level, option, value;
    } options[] = {
        { IPPROTO_TCP, TCP_NODELAY, 1 },
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, keepalive->idle_s },
        { IPPROTO_TCP, TCP_KEEPINTVL, keepalive->interval_s },
        { IPPROTO_TCP, TCP_KEEPCNT, keepalive->probes },
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        (void)setsockopt(fd, options[i].level, options[i].option, &options[i].value, sizeof(int));
}

static ssize_t moved(ssize_t nbytes, struct err *err)
{
    if (nbytes >= 0)
        return nbytes;
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    if (errno == EFAULT)
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "memory of a tensor on this rank");
    char reason[128];
    return fail(err, HVD_ERR_PEER_LOST, "%s", strerror_r(errno, reason, sizeof reason));
}

ssize_t socket_receive(int fd, void *data, size_t size, struct err *err)
{
    ssize_t nbytes = recv(fd, data, size, MSG_DONTWAIT);
    if (nbytes == 0 && size > 0)
        return fail(err, HVD_ERR_PEER_LOST, "closed by the other side");
    return moved(nbytes, err);
}

ssize_t socket_receive_parts(int fd, const struct iovec *parts, int count, struct err *err)
{
    struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count };
    ssize_t nbytes = recvmsg(fd, &message, MSG_DONTWAIT);
    if (nbytes == 0)
        return fail(err, HVD_ERR_PEER_LOST, "closed by the other side");
    return moved(nbytes, err);
}

ssize_t socket_send(int fd, const void *data, size_t size, struct err *err)
{
    return moved(send(fd, data, size, MSG_DONTWAIT | MSG_NOSIGNAL), err);
}

ssize_t socket_send_parts(int fd, const struct iovec *parts, int count, struct err *err)
{
    struct msghdr message = { .msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)count };
    return moved(sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL), err);
}

void socket_close_gently(int fd)
{
    enum { ROUNDS = 256 };
    char waste[16 * 1024];
    if (fd < 0)
        return;
    shutdown(fd, SHUT_WR);
    for (int i = 0; i < ROUNDS && recv(fd, waste, sizeof waste, MSG_DONTWAIT) > 0; i++)
        ;
    descriptor_close(fd);
}

uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t monotonic_ms(void)
{
    return monotonic_ns() / 1000000u;
}
