/* SPDX-License-Identifier: Apache-2.0 */
/* TCP_INFO; see tcp_acknowledged.h. Uses the kernel's own header, whose structure is longer than
 * the C library's. */
#include "launcher/protocol/tcp_acknowledged.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

uint64_t tcp_acknowledged(int fd)
{
    struct tcp_info info = { 0 };
    socklen_t size = sizeof info;
    const size_t least = offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0 || size < least)
        return 0;
    return info.tcpi_bytes_acked;
}
