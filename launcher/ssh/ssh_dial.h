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
    int fd;           /* owned by the receiver; non-blocking; -1 if there is none */
    const char *text; /* the connected address "198.51.100.11 port 22", or "198.51.100.11 port 22:
                       * connection refused, ..."; borrowed for the call */
    bool refused;     /* no socket, and every address has refused */
};

/* Called once, later. */
typedef void ssh_dial_fn(void *context, const struct ssh_dialled *dialled);

/* Does not end by itself while an address stays silent. The kernel breaks a connection on which the
 * host acknowledges nothing for `heartbeat_timeout_ms` and another 0.6 seconds, or for 13 seconds
 * if that is longer (lib/base/tcp_attempts.h), also while the connection is idle. `addresses` is
 * borrowed for the call. */
struct ssh_dial *ssh_dial_start(uv_loop_t *loop, const struct addrinfo *addresses,
                                uint32_t heartbeat_timeout_ms, ssh_dial_fn *on_end, void *context);

/* The result so far, as ssh_dialled.text: addresses that have not answered are listed without a
 * cause. */
void ssh_dial_describe(const struct ssh_dial *dial, char *text, size_t size);

/* Cancels; allowed only before the callback. NULL is fine. */
void ssh_dial_cancel(struct ssh_dial *dial);

/* The milliseconds until the next attempt after a connection was refused, or closed by a host that
 * has too many others. `attempt` counts the attempts so far, from 1; `random` spreads clients that
 * were turned away together. Negative: no more attempts. */
enum ssh_turned_away { SSH_REFUSED, SSH_CLOSED };
int ssh_dial_again_ms(enum ssh_turned_away how, int attempt, uint32_t random);

#endif
