/* SPDX-License-Identifier: Apache-2.0 */
/* Missing acknowledgements; see tcp_unanswered.h. */
#include "lib/link/tcp_unanswered.h"

/* An idle connection is probed every second (socket_tune()), so the third probe comes 2 seconds
 * after the first. */
enum { IDLE_PROBES = 3, IDLE_MS = IDLE_PROBES * 1000 };

/* ICMP messages (host unreachable) make TCP send more often, and a setting of the system can limit
 * its waits. Then the length of the next wait does not tell how long TCP has waited before.
 * Keepalive brings an idle connection an answer every second, so what is sent this long after the
 * last answer is sent long after the first attempt. */
enum { LONG_MS = 4000 };

/* Up to Linux 5.19, the time of an acknowledgement that comes with data, and acknowledges nothing
 * new, is often not noted: on a connection that only receives, the last one may seem long ago. */
uint32_t tcp_unanswered_ms(const struct tcp_info *info)
{
    return info->tcpi_last_data_recv < info->tcpi_last_ack_recv ? info->tcpi_last_data_recv
                                                                : info->tcpi_last_ack_recv;
}

/* Each wait is twice the one before. Returns the sum of `count` waits before one of `next_ms`. */
static int64_t tcp_unanswered_waits_ms(int64_t next_ms, int count)
{
    return next_ms - (next_ms >> (count < 31 ? count : 31));
}

/* Data was sent, and sent again. */
static bool tcp_unanswered_of_data(const struct tcp_info *info)
{
    int64_t asked_ms = tcp_unanswered_waits_ms(info->tcpi_rto / 1000, info->tcpi_retransmits);
    int64_t sent_ms = (int64_t)tcp_unanswered_ms(info) - info->tcpi_last_data_sent;
    bool asked = (asked_ms >= TCP_UNANSWERED_AWAY_MS && sent_ms >= TCP_UNANSWERED_AWAY_MS) ||
                 sent_ms >= LONG_MS;
    return asked && info->tcpi_last_data_sent >= TCP_UNANSWERED_ANSWER_MS;
}

/* The peer has no room, and TCP probes whether it has some again. The kernel does not say when it
 * sent the last probe: when all waits since the last answer were over. */
static bool tcp_unanswered_of_probes(const struct tcp_info *info)
{
    int backoff = info->tcpi_backoff < 31 ? info->tcpi_backoff : 31;
    int64_t next_ms = (int64_t)(info->tcpi_rto / 1000) << backoff;
    int64_t asked_ms = tcp_unanswered_waits_ms(next_ms, info->tcpi_probes - 1);
    int64_t sent_ms = tcp_unanswered_waits_ms(next_ms, info->tcpi_probes);
    return asked_ms >= TCP_UNANSWERED_AWAY_MS &&
           tcp_unanswered_ms(info) >= sent_ms + TCP_UNANSWERED_ANSWER_MS;
}

bool tcp_unanswered_is_loss(const struct tcp_info *info)
{
    if (info->tcpi_retransmits > 0)
        return tcp_unanswered_of_data(info);
    if (info->tcpi_probes > 0 && info->tcpi_backoff > 0)
        return tcp_unanswered_of_probes(info);
    return info->tcpi_probes >= IDLE_PROBES &&
           tcp_unanswered_ms(info) >= IDLE_MS + TCP_UNANSWERED_ANSWER_MS;
}
