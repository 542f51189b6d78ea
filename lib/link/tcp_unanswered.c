/* SPDX-License-Identifier: Apache-2.0 */
/* Missing acknowledgements; see tcp_unanswered.h. */
#include "lib/link/tcp_unanswered.h"

/* An idle connection is probed every second (socket_tune()). A probe that has had no answer for
 * 0.2 seconds gives rise to doubt. */
enum { IDLE_MS = 3000, IDLE_DOUBT_MS = 1200 };

/* ICMP messages (host unreachable) make TCP send more often, and a setting of the system can limit
 * its waits. Then the length of the next wait does not tell how long TCP has waited before.
 * Keepalive brings an idle connection an answer every second, so what is sent this long after the
 * last answer is sent long after the first attempt. */
enum { LONG_MS = 4000 };

/* With the next wait of a minute, the kernel sends too rarely for an attempt's own wait to tell. */
enum { LIMIT_ATTEMPTS = 4 };

/* Up to Linux 5.19, the time of an acknowledgement that comes with data, and acknowledges nothing
 * new, is often not noted: on a connection that only receives, the last one may seem long ago. */
uint32_t tcp_unanswered_ms(const struct tcp_info *info)
{
    return info->tcpi_last_data_recv < info->tcpi_last_ack_recv ? info->tcpi_last_data_recv
                                                                : info->tcpi_last_ack_recv;
}

/* A row covers a loss below `again` of 1000 segments each way. An attempt fails if it or its answer
 * is lost, so `attempts` of them fail together once in 10^12 times or less: 0.01^6, 0.02^7 and so
 * on. Below 1 of 1000, the five attempts of the shortest time fail once in 3 * 10^13 times. */
int tcp_unanswered_attempts(uint32_t sent, uint32_t again)
{
    static const struct {
        uint32_t again;
        int attempts;
    } rows[] = { { 1, 0 }, { 5, 6 }, { 10, 7 }, { 20, 9 }, { 50, 12 }, { 1001, 17 } };
    int row = 0;
    while (row < (int)(sizeof rows / sizeof *rows) - 1 &&
           (uint64_t)again * 1000 >= (uint64_t)sent * rows[row].again)
        row++;
    return again < 2 ? 0 : rows[row].attempts;
}

/* Attempts that have had no answer so far do not count: the retransmissions, and before them the
 * one of a tail loss probe. Nor does what the peer reports to have got twice (from Linux 4.19 on),
 * since a busy peer answers late. A kernel before Linux 4.6 does not count what it sends. */
static int tcp_unanswered_attempts_of(const struct tcp_info *info)
{
    uint32_t silent = info->tcpi_retransmits > 0 ? info->tcpi_retransmits + 1u : 0;
    uint64_t not_lost = (uint64_t)silent + info->tcpi_dsack_dups;
    if (info->tcpi_total_retrans <= not_lost || info->tcpi_data_segs_out <= silent)
        return 0;
    return tcp_unanswered_attempts(info->tcpi_data_segs_out - silent,
                                   info->tcpi_total_retrans - (uint32_t)not_lost);
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

static enum tcp_unanswered tcp_unanswered_state_idle(const struct tcp_info *info)
{
    uint32_t silent_ms = tcp_unanswered_ms(info);
    if (info->tcpi_probes == 0 || silent_ms < IDLE_DOUBT_MS)
        return TCP_ANSWERED;
    return info->tcpi_probes >= TCP_UNANSWERED_PROBES &&
                   silent_ms >= IDLE_MS + TCP_UNANSWERED_ANSWER_MS
               ? TCP_LOST
               : TCP_DOUBTED;
}

/* `needed` attempts must have failed, the last of them because the kernel has made another. */
static bool tcp_unanswered_is_lost_despite_losses(const struct tcp_info *info, int needed,
                                                  bool is_silent)
{
    uint32_t silent_ms = tcp_unanswered_ms(info);
    int failed = info->tcpi_retransmits > 0 ? info->tcpi_retransmits : info->tcpi_probes - 1;
    if (silent_ms >= TCP_UNANSWERED_LIMIT_MS)
        return is_silent || failed >= LIMIT_ATTEMPTS;
    return failed >= needed && silent_ms >= LONG_MS + TCP_UNANSWERED_ANSWER_MS;
}

bool tcp_unanswered_is_idle(const struct tcp_info *info)
{
    return info->tcpi_retransmits == 0 && info->tcpi_backoff == 0;
}

enum tcp_unanswered tcp_unanswered_state(const struct tcp_info *info)
{
    if (tcp_unanswered_is_idle(info))
        return tcp_unanswered_state_idle(info);
    if (info->tcpi_retransmits == 0 && info->tcpi_probes == 0)
        return TCP_ANSWERED;
    bool is_silent =
        info->tcpi_retransmits > 0 ? tcp_unanswered_of_data(info) : tcp_unanswered_of_probes(info);
    int needed = tcp_unanswered_attempts_of(info);
    if (needed == 0)
        return is_silent ? TCP_LOST : TCP_ANSWERED;
    if (tcp_unanswered_is_lost_despite_losses(info, needed, is_silent))
        return TCP_LOST;
    return tcp_unanswered_ms(info) >= TCP_UNANSWERED_AWAY_MS ? TCP_DOUBTED : TCP_ANSWERED;
}
