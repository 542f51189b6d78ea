/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the owner of the socket at the other end of a TCP connection within this machine, by asking
 * the kernel.
 *
 * NETLINK_SOCK_DIAG finds the one socket whose source is our peer and whose destination is our own
 * address; the kernel answers at once. Where netlink is refused or missing (containers, old
 * kernels), /proc/net/tcp and tcp6 are read, which takes longer the more connections there are.
 *
 * A socket belongs to nobody if its last process has closed it already, whatever uid it still
 * shows; if it does not exist any more; if its user has no name in this user namespace; and if the
 * kernel reports nothing. */
#ifndef LAUNCHER_PROCESS_SOCKET_OWNER_H
#define LAUNCHER_PROCESS_SOCKET_OWNER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct socket_owner {
    int netlink;       /* -1: use only /proc */
    uint32_t sequence; /* of the last question */
    bool trusted;      /* it has found a socket once, so a socket that it does not find does not
                        * exist */
};

void socket_owner_init(struct socket_owner *self);
void socket_owner_fini(struct socket_owner *self);

/* `fd` is our end, a connected IPv4 socket. True and the owner's uid, or false if it belongs to
 * nobody. Does not block. */
bool socket_owner_find(struct socket_owner *self, int fd, uid_t *uid);

#endif
