/* SPDX-License-Identifier: Apache-2.0 */
/* From addresses to one connected socket. Addresses are tried in their order, the next one as soon
 * as one has failed or 250 ms have passed; the first that answers wins. */
#ifndef LAUNCHER_SSH_SSH_DIAL_H
#define LAUNCHER_SSH_SSH_DIAL_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct ssh_dial;

struct ssh_dialled {
    int fd;           /* the receiver's; non-blocking; -1 if there is none */
    const char *text; /* "198.51.100.11 port 22" that has answered, or "198.51.100.11 port 22:
                           connection refused, ..."; borrowed for the call */
    bool refused;     /* no socket, and every address has refused */
};

/* Once, later. */
typedef void ssh_dial_fn(void *context, const struct ssh_dialled *dialled);

/* Does not end by itself while an address stays silent. A connection on which the host acknowledges
 * nothing for `heartbeat_timeout_ms` is broken by the kernel within another second, also while it
 * is idle. `addresses` is borrowed for the call. */
struct ssh_dial *ssh_dial_start(uv_loop_t *loop, const struct addrinfo *addresses,
                                uint32_t heartbeat_timeout_ms, ssh_dial_fn *on_end, void *context);

/* What stands so far, as ssh_dialled.text: addresses that have not answered are listed without a
 * cause. */
void ssh_dial_describe(const struct ssh_dial *dial, char *text, size_t size);

/* Before it has called back. NULL is fine. */
void ssh_dial_cancel(struct ssh_dial *dial);

/* After how many milliseconds is a connection tried again that was refused, or closed by a host
 * that has too many others? `attempt` counts the tries so far, from 1; `random` spreads those who
 * were turned away together. Negative: not any more. */
enum ssh_turned_away { SSH_REFUSED, SSH_CLOSED };
int ssh_dial_again_ms(enum ssh_turned_away how, int attempt, uint32_t random);

#endif
