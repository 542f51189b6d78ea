/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes that the kernel at the other end of a TCP connection has acknowledged. A kernel also
 * acknowledges for processes that are stopped, starved or hang, as long as there is room for the
 * unread bytes. */
#ifndef LAUNCHER_PROTOCOL_TCP_ACKNOWLEDGED_H
#define LAUNCHER_PROTOCOL_TCP_ACKNOWLEDGED_H

#include <stdint.h>

/* Bytes since the connection was made, a handshake not counted exactly; 0 if it is no TCP socket or
 * the kernel does not tell (before Linux 4.1). */
uint64_t tcp_acknowledged(int fd);

#endif
