/* SPDX-License-Identifier: Apache-2.0 */
/* Links over stream sockets: TCP, and unix sockets, whose peer cannot vanish unnoticed.
 *
 * A reset or an end is seen at the next call. To notice a host that has vanished, the link asks TCP
 * for missing acknowledgements, of sent data or of the probes that keepalive sends on an idle link
 * (tcp_unanswered.h). Keepalive itself ends an idle link later. A receiver that is alive and does
 * not read still acknowledges. While it is in doubt whether a silent host or a network that loses
 * packets is the cause, each check asks the host once more. */
#include "lib/link/link_tcp.h"

#include "lib/link/congestion.h"
#include "lib/link/socket.h"
#include "lib/link/tcp_unanswered.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The buffer of a unix socket, which does not grow as TCP's does; the kernel doubles this number.
 * With the usual 208 KiB two ranks that exchange much wait for each other twice as long. With more
 * than this number the bytes under way leave the caches, and a single megabyte takes longer. */
enum { UNIX_BUFFER = 256 * 1024 };

struct link_tcp {
    struct link link;
    int fd;
    int usual_wait_ms; /* the longest wait outside of a doubt; 0: it applies now */
};

static int descriptor(const struct link *link)
{
    return ((const struct link_tcp *)(const void *)link)->fd;
}

/* Sending can fail while the connection stands, when memory is short. A caller that relies on
 * try_receive() to reach the end would then wait for ever, and so would the peer. */
static ssize_t stream_try_send(struct link *link, const struct iovec *parts, int count,
                               struct err *err)
{
    int fd = descriptor(link);
    ssize_t nbytes = count == 1 ? socket_send(fd, parts[0].iov_base, parts[0].iov_len, err)
                                : socket_send_parts(fd, parts, count, err);
    if (nbytes < 0)
        shutdown(fd, SHUT_RDWR); /* what has come can still be received */
    return nbytes;
}

static ssize_t stream_try_receive(struct link *link, const struct iovec *parts, int count,
                                  struct err *err)
{
    if (count == 1)
        return socket_receive(descriptor(link), parts[0].iov_base, parts[0].iov_len, err);
    return socket_receive_parts(descriptor(link), parts, count, err);
}

/* While a host is in doubt. */
static void tcp_shorten_waits(struct link_tcp *tcp)
{
    const int wait_ms = TCP_ATTEMPTS_EVERY_MS;
    int usual_ms = 0;
    socklen_t length = sizeof usual_ms;
    if (tcp->usual_wait_ms == 0 &&
        getsockopt(tcp->fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &usual_ms, &length) == 0 &&
        setsockopt(tcp->fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &wait_ms, sizeof wait_ms) == 0)
        tcp->usual_wait_ms = usual_ms;
}

static void tcp_restore_waits(struct link_tcp *tcp)
{
    if (tcp->usual_wait_ms != 0)
        (void)setsockopt(tcp->fd, IPPROTO_TCP, TCP_RTO_MAX_MS, &tcp->usual_wait_ms, sizeof(int));
    tcp->usual_wait_ms = 0;
}

/* Setting the idle time of a connection that has been idle for longer makes the kernel probe at
 * once. */
static void tcp_ask_again(struct link_tcp *tcp, const struct tcp_info *info)
{
    const int idle_s = TCP_UNANSWERED_IDLE_S;
    if (tcp_unanswered_is_idle(info))
        (void)setsockopt(tcp->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    else
        tcp_shorten_waits(tcp);
}

static int tcp_check(struct link *link, struct err *err)
{
    struct link_tcp *tcp = (struct link_tcp *)(void *)link;
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(tcp->fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
        return HVD_OK;
    enum tcp_unanswered state = tcp_unanswered_state(&info);
    if (state == TCP_DOUBTED)
        tcp_ask_again(tcp, &info);
    else if (state == TCP_ANSWERED)
        tcp_restore_waits(tcp);
    else
        return fail(err, HVD_ERR_PEER_LOST, "no acknowledgement for %u ms",
                    (unsigned)tcp_unanswered_ms(&info));
    return HVD_OK;
}

static void stream_close(struct link *link)
{
    socket_close_gently(descriptor(link));
    free(link);
}

static int unix_check(struct link *link, struct err *err)
{
    (void)link;
    (void)err;
    return HVD_OK;
}

static const struct link_type link_tcp_type = {
    .transport = TRANSPORT_TCP,
    .try_send = stream_try_send,
    .try_receive = stream_try_receive,
    .pollable = descriptor,
    .check = tcp_check,
    .close = stream_close,
};

static const struct link_type link_unix_type = {
    .transport = TRANSPORT_UNIX,
    .try_send = stream_try_send,
    .try_receive = stream_try_receive,
    .pollable = descriptor,
    .check = unix_check,
    .close = stream_close,
};

static struct link *link_tcp_create_typed(int fd, const struct link_type *type)
{
    struct link_tcp *tcp = malloc(sizeof *tcp);
    if (!tcp)
        return NULL;
    *tcp = (struct link_tcp){ .link.type = type, .fd = fd };
    return &tcp->link;
}

/* Compares addresses without their ports. */
static bool is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    const struct sockaddr_in *in[] = { (const void *)a, (const void *)b };
    const struct sockaddr_in6 *in6[] = { (const void *)a, (const void *)b };
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return in[0]->sin_addr.s_addr == in[1]->sin_addr.s_addr;
    return a->ss_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&in6[0]->sin6_addr, &in6[1]->sin6_addr);
}

static bool stays_within_host(int fd)
{
    struct sockaddr_storage own, its;
    socklen_t own_length = sizeof own, its_length = sizeof its;
    return getsockname(fd, (struct sockaddr *)&own, &own_length) == 0 &&
           getpeername(fd, (struct sockaddr *)&its, &its_length) == 0 && is_same_host(&own, &its);
}

struct link *link_tcp_create(int fd)
{
    congestion_choose(fd, stays_within_host(fd));
    return link_tcp_create_typed(fd, &link_tcp_type);
}

struct link *link_unix_create(int fd)
{
    int size = UNIX_BUFFER;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    return link_tcp_create_typed(fd, &link_unix_type);
}
