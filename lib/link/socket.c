/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets; see socket.h. This file turns errno into a status; no file above sees errno. */
#include "lib/link/socket.h"

#include "lib/base/descriptor.h"
#include "lib/base/standard_streams.h"
#include "lib/base/tcp_attempts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* A unix socket's name begins with a zero: it is no file, and disappears with its last
 * descriptor. */
static const char unix_prefix[] = "\0hvd-";
enum { UNIX_PREFIX_SIZE = sizeof unix_prefix - 1, UNIX_DIGITS = 32 };

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

/* True for exactly 32 hexadecimal digits. */
static bool parse_unix(struct socket_address *address, const char *digits)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    if (strlen(digits) != UNIX_DIGITS || strspn(digits, "0123456789abcdef") != UNIX_DIGITS)
        return false;
    memcpy(un.sun_path, unix_prefix, UNIX_PREFIX_SIZE);
    memcpy(un.sun_path + UNIX_PREFIX_SIZE, digits, UNIX_DIGITS);
    memcpy(&address->storage, &un, sizeof un);
    address->length = offsetof(struct sockaddr_un, sun_path) + UNIX_PREFIX_SIZE + UNIX_DIGITS;
    return true;
}

bool socket_address_is_unix(const char *text)
{
    return strncmp(text, "unix:", 5) == 0;
}

int socket_address_parse(struct socket_address *address, const char *text, struct err *err)
{
    char host[SOCKET_ADDRESS_TEXT];
    const char *colon = strrchr(text, ':');
    uint16_t port;
    *address = (struct socket_address){ 0 };
    if (socket_address_is_unix(text) && parse_unix(address, text + 5))
        return HVD_OK;
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
    if (address->storage.ss_family == AF_UNIX) {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&address->storage;
        snprintf(text, SOCKET_ADDRESS_TEXT, "unix:%.*s", UNIX_DIGITS,
                 un->sun_path + UNIX_PREFIX_SIZE);
    } else if (address->storage.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&address->storage;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(text, SOCKET_ADDRESS_TEXT, "[%s]:%u", host, ntohs(in6->sin6_port));
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&address->storage;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, SOCKET_ADDRESS_TEXT, "%s:%u", host, ntohs(in->sin_port));
    }
}

/* Connecting to a unix socket ends at once, before the listener accepts. */
static int refuse_unix(int error, struct err *err)
{
    if (error == EAGAIN)
        return fail(err, HVD_ERR_TIMEOUT, "too many are connecting to it");
    if (error == ECONNREFUSED)
        return fail(err, HVD_ERR_ENVIRONMENT, "no such socket here (another network namespace?)");
    return fail_errno(err, HVD_ERR_ENVIRONMENT, error, "connect");
}

static int socket_refuse(int family, int error, struct err *err)
{
    return family == AF_UNIX ? refuse_unix(error, err)
                             : fail_errno(err, HVD_ERR_PEER_LOST, error, "connect");
}

int socket_connect(const struct socket_address *address, struct err *err)
{
    return socket_connect_prepared(address, NULL, err);
}

int socket_connect_prepared(const struct socket_address *address, void (*prepare)(int fd),
                            struct err *err)
{
    int fd = descriptor_socket(address->storage.ss_family);
    if (fd < 0)
        return fail_errno(err, errno == EAFNOSUPPORT ? HVD_ERR_PEER_LOST : HVD_ERR_SYSTEM, errno,
                          "socket");
    if (prepare)
        prepare(fd);
    if (connect(fd, (const struct sockaddr *)&address->storage, address->length) == 0 ||
        errno == EINPROGRESS || errno == EINTR)
        return fd;
    int error = errno;
    descriptor_close(fd);
    return socket_refuse(address->storage.ss_family, error, err);
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

bool socket_is_unix(int fd)
{
    int family = AF_UNSPEC;
    socklen_t length = sizeof family;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 && family == AF_UNIX;
}

bool socket_peer(int fd, pid_t *pid, uid_t *uid)
{
    struct ucred peer;
    socklen_t length = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) < 0)
        return false;
    *pid = peer.pid;
    *uid = peer.uid;
    return true;
}

int socket_check_user(int fd, struct err *err)
{
    pid_t pid;
    uid_t uid;
    if (!socket_peer(fd, &pid, &uid))
        return fail_errno(err, HVD_ERR_AUTH, errno, "whose socket it is");
    if (uid != geteuid())
        return fail(err, HVD_ERR_AUTH, "it belongs to another user (uid %lu)", (unsigned long)uid);
    return HVD_OK;
}

void socket_tune(int fd, int idle_s, int probes)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    tcp_probe_idle(fd, idle_s, probes);
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

/* ---- descriptors ---- */

/* Room for one descriptor: the kernel puts in as many as fit, and drops the rest. */
union control {
    struct cmsghdr header;
    unsigned char bytes[CMSG_LEN(sizeof(int))];
};

/* Distinguishes bytes that cannot go with this descriptor from bytes that cannot go at all. */
static bool is_about_descriptor(int error)
{
    return error == ETOOMANYREFS || error == EPERM || error == EACCES || error == EINVAL ||
           error == EBADF;
}

ssize_t socket_send_descriptor(int fd, const void *data, size_t size, int passed, struct err *err)
{
    struct iovec part = { (void *)data, size };
    union control control = { .header = { .cmsg_len = CMSG_LEN(sizeof passed),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS } };
    memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof control.bytes };
    ssize_t nbytes = sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (nbytes < 0 && is_about_descriptor(errno))
        return fail_errno(err, HVD_ERR_SYSTEM, errno, "pass a descriptor");
    return moved(nbytes, err);
}

static int passed_with(struct msghdr *message)
{
    int fd = -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS &&
        header->cmsg_len == CMSG_LEN(sizeof fd))
        memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return standard_streams_lift(fd);
}

ssize_t socket_receive_descriptor(int fd, void *data, size_t size, int *passed, struct err *err)
{
    struct iovec part = { data, size };
    union control control;
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = &control,
                              .msg_controllen = sizeof control.bytes };
    struct standard_streams held;
    *passed = -1;
    standard_streams_hold(&held);
    ssize_t nbytes = recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (nbytes > 0)
        *passed = passed_with(&message);
    standard_streams_release(&held);
    if (nbytes == 0)
        return fail(err, HVD_ERR_PEER_LOST, "closed by the other side");
    return moved(nbytes, err);
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
