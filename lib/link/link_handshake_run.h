/* SPDX-License-Identifier: Apache-2.0 */
/* Moves a handshake (link_handshake.h) over a nonblocking socket. */
#ifndef LIB_LINK_LINK_HANDSHAKE_RUN_H
#define LIB_LINK_LINK_HANDSHAKE_RUN_H

#include "lib/link/link_handshake.h"

/* 1 when both sides are satisfied, 0 when the socket must be waited for, or a negative status. */
int link_handshake_run(struct link_handshake *handshake, int fd, struct err *err);

/* The event to wait for: POLLIN or POLLOUT. */
short link_handshake_run_events(const struct link_handshake *handshake);

#endif
