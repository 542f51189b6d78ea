/* SPDX-License-Identifier: Apache-2.0 */
/* The congestion control of TCP links: "reno" between two ends of one host, the system's otherwise.
 *
 *   congestion_begin(listening or unconnected socket) -> connected -> congestion_choose()
 *
 * Within a host no path is shared and no queue builds up. BBR, the default of some systems, sends
 * at an estimated rate of the path; within a host this rate measures how soon the receiver reads,
 * and a megabyte takes half as long again. Reno has no such estimate, and is always there and
 * permitted.
 *
 * The kernel paces a socket that has ever been connected with BBR until it is closed, by a timer,
 * at 1.2 to 2 times what the congestion window gives. With more ranks than processors the round
 * trips are long and this rate is a limit. So where BBR is the default a socket of a link begins
 * with reno, and a socket that turns out to lead to another host gets BBR before it carries data.
 * Other defaults do not pace, and DCTCP must be there at the handshake of TCP, so those stay.
 *
 * A system that does not let a socket change stays as it is. A route whose own congestion control
 * is reno is not told apart from a socket that began so. */
#ifndef LIB_LINK_CONGESTION_H
#define LIB_LINK_CONGESTION_H

#include <stdbool.h>

/* Whether a socket on a system with this default should begin with another one. */
bool congestion_is_replaced(const char *system);

/* For a new socket, before connect() or listen(); accepted sockets begin as the listening one. Does
 * nothing to a socket that is not TCP. */
void congestion_begin(int fd);

/* Once connected; needs no descriptor besides. */
void congestion_choose(int fd, bool within_host);

#endif
