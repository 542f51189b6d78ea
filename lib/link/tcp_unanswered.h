/* SPDX-License-Identifier: Apache-2.0 */
/* Decides from TCP_INFO whether a host that does not acknowledge is lost.
 *
 * The time since the last acknowledgement does not tell: TCP sends again more and more rarely, and
 * may not have sent anything since a host that was away for 2 seconds is back. A host is lost when
 * two attempts of the kernel, TCP_UNANSWERED_AWAY_MS apart, have had no answer, the second for
 * TCP_UNANSWERED_ANSWER_MS. It does not matter whether this process ran meanwhile.
 *
 * If TCP first waits for 0.2 seconds, which is usual, it sends again after 0.2, 0.6, 1.4 and 3.0
 * seconds, and the host is lost after 3.8. If its first wait is longer, on a slow path or a busy
 * host, 6 seconds may pass. */
#ifndef LIB_LINK_TCP_UNANSWERED_H
#define LIB_LINK_TCP_UNANSWERED_H

#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    /* A host that is back earlier is not lost. 12 times the shortest first wait: probes of a peer
     * without room are that far apart when their waits are 2, 4 and 8 of those. */
    TCP_UNANSWERED_AWAY_MS = 2400,
    TCP_UNANSWERED_ANSWER_MS = 800,
};

/* How long ago the host last acknowledged or sent something. */
uint32_t tcp_unanswered_ms(const struct tcp_info *info);

/* The connection must have the usual keepalive of socket_tune(), which probes it while it is idle.
 * An idle one is lost after 3.8 seconds, and was not if its host was away for 2. */
bool tcp_unanswered_is_loss(const struct tcp_info *info);

#endif
