/* SPDX-License-Identifier: Apache-2.0 */
/* How many attempts to reach a silent host must fail before the kernel ends a TCP connection.
 *
 * A host that has vanished and a network that loses packets look alike until an attempt has an
 * answer. An attempt fails if it or its answer is lost: with 5 % of the packets lost each way,
 * 9.75 % of the attempts fail. So many fail in a row by chance:
 *    3 attempts    9 * 10^-4
 *    5 attempts    9 * 10^-6
 *    7 attempts    8 * 10^-8
 *   12 attempts    7 * 10^-13
 *
 * Therefore a connection ends after TCP_ATTEMPTS. What a loss of 5 % means for each kind:
 *
 *   worker - rendezvous: both sides probe an idle connection every 5 seconds, which are 0.4 first
 *   attempts a second. Three probes without an answer come once in 2700 seconds, twelve once in
 *   3 * 10^12: 10 000 workers for an hour are at 1 in 100 000.
 *
 *   hvdrun - host, by ssh: one first attempt a second, for a heartbeat or, while hvdrun is stopped,
 *   by keepalive. Five failures in a row come once in 10^5 seconds, which 100 hosts reach in less
 *   than an hour; twelve once in 10^12. Data that is sent again less often (before Linux 6.15) has
 *   only 7 attempts: once in 10^7 seconds.
 *
 *   rank - rank: the ranks judge by themselves (lib/link/tcp_unanswered.h, with the odds).
 *
 * The price is that a host that has vanished is noticed later here, after 13 to 17 seconds. Nobody
 * waits for that: missing heartbeats (launcher/protocol/heartbeat_timeout.h) and a rank that waits
 * for a rank there notice it within seconds. */
#ifndef LIB_BASE_TCP_ATTEMPTS_H
#define LIB_BASE_TCP_ATTEMPTS_H

#include <stdint.h>

enum {
    TCP_ATTEMPTS = 12,
    TCP_ATTEMPTS_EVERY_MS = 1000, /* a silent host is asked so often */
};

/* The longest wait of the kernel before it sends data again. It applies from the next attempt on.
 * Before Linux 6.15 the option does not exist. */
#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44
#endif

/* The kernel probes the connection when it has been idle for `idle_s`, then every
 * TCP_ATTEMPTS_EVERY_MS, and ends it when `probes` of them have had no answer. These calls have
 * no effect on a socket that is not TCP. */
void tcp_probe_idle(int fd, int idle_s, int probes);

/* The same with TCP_ATTEMPTS probes, and the kernel also ends a connection whose data has had no
 * acknowledgement for tcp_wait_limit_ms(). Data is sent again every TCP_ATTEMPTS_EVERY_MS at
 * least. This ends the connection of a peer that does not read for as long, too: only for peers
 * that always read. Connections of a listening socket inherit it. */
void tcp_limit_wait(int fd, int idle_s, uint32_t least_ms);

/* `least_ms`, or the time of TCP_ATTEMPTS probes of an idle connection if that is longer. */
uint32_t tcp_wait_limit_ms(int idle_s, uint32_t least_ms);

#endif
