/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling another rank: its addresses in turn, again and again until one answers.
 *
 *   idle -> connecting -> greeting -> done;  a try that fails or takes too long: back to idle
 *
 * A rank that closes is tried again, because it gives strangers little time and cannot tell a late
 * rank from one; so is one that takes longer than 3 seconds to connect and to prove itself. From
 * then on it may hold the link for ready, so the answer is waited for as long as the connection
 * stands. If a stranger answers (HVD_ERR_AUTH, HVD_ERR_PROTOCOL), or no socket can be opened
 * (HVD_ERR_SYSTEM), that is an error once every address has been tried. */
#ifndef LIB_LINK_LINK_DIAL_H
#define LIB_LINK_LINK_DIAL_H

#include "lib/base/join_protocol.h"
#include "lib/link/link_handshake.h"

#include <poll.h>

enum link_dial_state { DIAL_IDLE, DIAL_CONNECTING, DIAL_GREETING, DIAL_DONE };

struct link_dial {
    enum link_dial_state state;
    const struct join_peer *peer; /* borrowed */
    struct link_identity identity;
    const struct job_key *key; /* borrowed */
    struct link_handshake handshake;
    int fd;            /* -1 while idle */
    int tries;         /* so far; tells which address is next */
    uint64_t until_ms; /* when an idle dialler tries again, or another one gives this try up */
    struct err last;   /* why the last try failed */
};

void link_dial_init(struct link_dial *dial, const struct join_peer *peer,
                    const struct link_identity *identity, const struct job_key *key);
void link_dial_fini(struct link_dial *dial);

/* What to wait for (fd -1: nothing but time, until_ms). */
struct pollfd link_dial_pollfd(const struct link_dial *dial);

/* Goes on after what was waited for. 1 when done: the socket is the caller's (link_dial_take); 0 if
 * not yet; or a negative status, after which it may be moved all the same, and tries again. */
int link_dial_move(struct link_dial *dial, uint64_t now_ms, struct err *err);
int link_dial_take(struct link_dial *dial);

#endif
