/* SPDX-License-Identifier: Apache-2.0 */
/* Whose socket is at the other end of a TCP connection within this machine? The kernel knows.
 *
 * It is asked through NETLINK_SOCK_DIAG for the one socket whose source is our peer and whose
 * destination is our own address; it answers at once. Where that is refused or not there
 * (containers, old kernels), /proc/net/tcp and tcp6 are read, which takes longer the more
 * connections there are.
 *
 * Nobody's is a socket that its last process has closed already, whatever uid it still shows; one
 * that is not there any more; one of a user who has no name in this user namespace; and every one
 * when the kernel tells nothing. */
#ifndef LAUNCHER_PROCESS_SOCKET_OWNER_H
#define LAUNCHER_PROCESS_SOCKET_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct socket_owner {
    int netlink;       /* -1: only what /proc says */
    uint32_t sequence; /* of the last question */
    bool trusted;      /* it has found a socket once: what it does not find is not there */
};

void socket_owner_init(struct socket_owner *self);
void socket_owner_fini(struct socket_owner *self);

/* `fd` is our end, a connected IPv4 socket. True and the owner's uid, or false: nobody's. Does not
 * block. */
bool socket_owner_find(struct socket_owner *self, int fd, uid_t *uid);

#endif
