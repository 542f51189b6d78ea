/* SPDX-License-Identifier: Apache-2.0 */
/* Options of TCP sockets; see tcp_attempts.h. A kernel that lacks one goes on with its default. */
#include "lib/base/tcp_attempts.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <sys/socket.h>

struct tcp_option {
    int level, name, value;
};

static void tcp_set_options(int fd, const struct tcp_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

void tcp_probe_idle(int fd, int idle_s, int probes)
{
    const struct tcp_option options[] = {
        { SOL_SOCKET, SO_KEEPALIVE, 1 },
        { IPPROTO_TCP, TCP_KEEPIDLE, idle_s },
        { IPPROTO_TCP, TCP_KEEPINTVL, TCP_ATTEMPTS_EVERY_MS / 1000 },
        { IPPROTO_TCP, TCP_KEEPCNT, probes },
    };
    tcp_set_options(fd, options, sizeof options / sizeof *options);
}

uint32_t tcp_wait_limit_ms(int idle_s, uint32_t least_ms)
{
    uint32_t probes_ms = (uint32_t)idle_s * 1000 + TCP_ATTEMPTS * TCP_ATTEMPTS_EVERY_MS;
    return least_ms > probes_ms ? least_ms : probes_ms;
}

/* TCP_USER_TIMEOUT overrules the number of probes. */
void tcp_limit_wait(int fd, int idle_s, uint32_t least_ms)
{
    const struct tcp_option options[] = {
        { IPPROTO_TCP, TCP_USER_TIMEOUT, (int)tcp_wait_limit_ms(idle_s, least_ms) },
        { IPPROTO_TCP, TCP_RTO_MAX_MS, TCP_ATTEMPTS_EVERY_MS },
    };
    tcp_probe_idle(fd, idle_s, TCP_ATTEMPTS);
    tcp_set_options(fd, options, sizeof options / sizeof *options);
}
