/* SPDX-License-Identifier: Apache-2.0 */
/* Links over TCP.
 *
 * A reset or an end is seen at the next call. For a host that has vanished without a word TCP is
 * asked how long acknowledgements have been missing: of what was sent, or of the probes that
 * keepalive sends while nothing else is (socket_tune), which ends an idle link by itself a little
 * later. A receiver that is alive and does not read acknowledges all the same.
 *
 * TCP sends again after 0.2, 0.6, 1.4 and 3.0 seconds, and probes after 1, 2 and 3: a host that was
 * gone for 2 seconds has been heard of again after 3.1. */
#include "lib/link/link_tcp.h"

#include "lib/link/socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

enum { SILENCE_MS = 3500, UNANSWERED = 3 };

struct link_tcp {
    struct link link;
    int fd;
};

static int descriptor(const struct link *link)
{
    return ((const struct link_tcp *)(const void *)link)->fd;
}

static ssize_t tcp_try_send(struct link *link, const struct iovec *parts, int count,
                            struct err *err)
{
    if (count == 1)
        return socket_send(descriptor(link), parts[0].iov_base, parts[0].iov_len, err);
    return socket_send_parts(descriptor(link), parts, count, err);
}

static ssize_t tcp_try_receive(struct link *link, const struct iovec *parts, int count,
                               struct err *err)
{
    if (count == 1)
        return socket_receive(descriptor(link), parts[0].iov_base, parts[0].iov_len, err);
    return socket_receive_parts(descriptor(link), parts, count, err);
}

static int tcp_check(struct link *link, struct err *err)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(descriptor(link), IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
        return HVD_OK; /* not TCP */
    bool unanswered = info.tcpi_retransmits >= UNANSWERED || info.tcpi_probes >= UNANSWERED;
    if (unanswered && info.tcpi_last_ack_recv > SILENCE_MS)
        return fail(err, HVD_ERR_PEER_LOST, "no acknowledgement for %u ms",
                    info.tcpi_last_ack_recv);
    return HVD_OK;
}

static void tcp_close(struct link *link)
{
    socket_close_gently(descriptor(link));
    free(link);
}

static const struct link_type link_tcp_type = {
    .try_send = tcp_try_send,
    .try_receive = tcp_try_receive,
    .pollable = descriptor,
    .check = tcp_check,
    .close = tcp_close,
};

struct link *link_tcp_create(int fd)
{
    struct link_tcp *tcp = malloc(sizeof *tcp);
    if (!tcp)
        return NULL;
    *tcp = (struct link_tcp){ .link.type = &link_tcp_type, .fd = fd };
    return &tcp->link;
}
