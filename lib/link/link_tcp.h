/* SPDX-License-Identifier: Apache-2.0 */
/* A link over a connected stream socket whose peer has been authenticated. */
#ifndef LIB_LINK_LINK_TCP_H
#define LIB_LINK_LINK_TCP_H

#include "lib/link/link.h"

/* Both take over `fd`, which is nonblocking. NULL when out of memory; then `fd` still belongs to
 * the caller. */
struct link *link_tcp_create(int fd);

/* Over a unix socket: the peer is on this host, and the kernel reports when it has gone. */
struct link *link_unix_create(int fd);

#endif
