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
 * host, 6 seconds may pass.
 *
 * A network that loses packets leaves four attempts in a row without an answer now and then. If the
 * connection had to send data again before it fell silent, more attempts must fail, so many that
 * chance leaves them all unanswered once in 10^12 times (tcp_unanswered_attempts()). The caller of
 * tcp_unanswered_state() makes the kernel try more often in the meantime (link_tcp.c), after which
 * 12 attempts take 11 seconds. If the kernel cannot, the host is lost TCP_UNANSWERED_LIMIT_MS after
 * its last answer.
 *
 * With 5 % of the packets lost each way, 9.75 % of the attempts fail. Four in a row, the only limit
 * before, ended one connection in 3288 seconds, so there are about 3.4 first attempts a second:
 *   12 attempts without an answer: 0.0975^12 * 3.4, once in 4 * 10^11 seconds;
 *   60 seconds, which are 9 attempts: 0.0975^9 * 3.4, once in 4 * 10^8 seconds (12 years);
 *   12 probes of an idle connection, which is probed once a second: once in 10^12 seconds.
 * So 100 connections for 10 hours are at 1 in 100 000, or at 1 in 100 where the kernel cannot try
 * more often (before Linux 6.15), or where the kernel itself gives up so early: it does after
 * net.ipv4.tcp_retries2 retransmissions, usually 15. A connection that has lost one segment at most
 * does not know about the losses: until then, at 5 %, four retransmissions fail together once in
 * 5 000 connections. */
#ifndef LIB_LINK_TCP_UNANSWERED_H
#define LIB_LINK_TCP_UNANSWERED_H

#include "lib/base/tcp_attempts.h"

#include <linux/tcp.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    /* A host that is back earlier is not lost. 12 times the shortest first wait: probes of a peer
     * without room are that far apart when their waits are 2, 4 and 8 of those. */
    TCP_UNANSWERED_AWAY_MS = 2400,
    TCP_UNANSWERED_ANSWER_MS = 800,
    /* A host is lost after this time, however many packets the network lost before. */
    TCP_UNANSWERED_LIMIT_MS = 60000,
    /* An idle connection is lost after so many probes without an answer. Keepalive alone would send
     * 3 of them in the shortest time; the caller makes the kernel send the others. */
    TCP_UNANSWERED_PROBES = TCP_ATTEMPTS,
    /* The keepalive of such a connection: idle for so long, it is probed. Where nobody asks for its
     * state, the kernel ends it after the last of so many probes. */
    TCP_UNANSWERED_IDLE_S = 1,
    TCP_UNANSWERED_LAST_PROBE = 30,
};

/* answered -> doubted -> lost; an answer leads from doubted back to answered. */
enum tcp_unanswered {
    TCP_ANSWERED,
    TCP_DOUBTED, /* more attempts must fail; the kernel is to make them soon */
    TCP_LOST,
};

/* How long ago the host last acknowledged or sent something. */
uint32_t tcp_unanswered_ms(const struct tcp_info *info);

/* How many attempts must fail in a row if the connection has sent `sent` segments before, `again`
 * of them because the first was lost: 0 if it is clean, so that the time alone decides; at most 17.
 * A single one does not tell. */
int tcp_unanswered_attempts(uint32_t sent, uint32_t again);

/* Idle: nothing waits to be sent or to be acknowledged, and keepalive probes the connection. */
bool tcp_unanswered_is_idle(const struct tcp_info *info);

/* The connection must have the keepalive above, of socket_tune(), which probes it while it is idle.
 * An idle one is lost after 4 seconds, and was not if its host was away for 2. */
enum tcp_unanswered tcp_unanswered_state(const struct tcp_info *info);

#endif
