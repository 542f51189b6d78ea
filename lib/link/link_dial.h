/* SPDX-License-Identifier: Apache-2.0 */
/* Dialling another rank: its addresses in turn, round after round, until the rank itself answers.
 *
 *   idle -> trying -> done;  a round in which every address has failed: back to idle
 *
 * The next address is tried when one has failed, or has not answered for 250 ms; up to 4 addresses
 * are tried at a time. Seen from this host, an address may lead to another process or nowhere. The
 * first address at which the rank proves itself wins. The other tries are dropped before the rank
 * gets our own proof, so that the rank never has two links for one. A unix socket that exists leads
 * to the rank, however long the rank takes to answer: no other address is tried meanwhile, and a
 * unix socket that closes is dialled again, a few times.
 *
 * A rank that closes the connection is tried again, because a rank gives unauthenticated peers
 * little time and cannot distinguish a late rank from one. A rank of another job at this address
 * closes likewise; it tells unauthenticated peers nothing, so nobody can know which of the two it
 * is. A rank that does not answer in time is tried again, too. Dialling fails at the end of a round
 * when unauthenticated peers answer at every address (HVD_ERR_AUTH, HVD_ERR_PROTOCOL), or when no
 * socket can be opened (HVD_ERR_SYSTEM). When only a unix socket is wanted and does not exist
 * (HVD_ERR_ENVIRONMENT), dialling fails after several rounds: the rank may have ended, and the news
 * of its end may still come. */
#ifndef LIB_LINK_LINK_DIAL_H
#define LIB_LINK_LINK_DIAL_H

#include "lib/base/join_protocol.h"
#include "lib/link/link_try.h"

enum { DIAL_TRIES_MAX = 4, DIAL_DELAY_MS = 250, DIAL_CAUSE_SIZE = 64, DIAL_CAUSES_SIZE = 384 };

enum link_dial_state { DIAL_IDLE, DIAL_TRYING, DIAL_DONE };

struct link_dial {
    enum link_dial_state state;
    const struct join_peer *peer; /* borrowed */
    struct link_identity identity;
    struct rank_credentials *credentials; /* borrowed */
    enum transport transport; /* on this host; this and the terms are the caller's to change
                                * before it is moved */
    struct link_terms terms;  /* at first no encryption */
    struct {
        struct link_try try;
        int address; /* which of the peer's */
    } tries[DIAL_TRIES_MAX];
    int count;                   /* of tries */
    int next;                    /* the address to be tried next in this round */
    uint64_t until_ms;           /* when the next try begins, or, when idle, the next round */
    uint64_t pause_ms;           /* pause before the next round */
    int patience;                /* how often yet a unix socket may close */
    struct link_connection made; /* when done; else its descriptor is -1 */
    struct {                     /* why each address failed last; status HVD_OK: it has not */
        int status;
        char cause[DIAL_CAUSE_SIZE];
    } failed[JOIN_ADDRESSES_MAX];
};

void link_dial_init(struct link_dial *dial, const struct join_peer *peer,
                    const struct link_identity *identity, struct rank_credentials *credentials);
void link_dial_fini(struct link_dial *dial);

/* The number of descriptors to wait for, of which at most `capacity` are filled in; and the next
 * timeout. */
int link_dial_pollfds(const struct link_dial *dial, struct pollfd *fds, int capacity);
uint64_t link_dial_until(const struct link_dial *dial);

/* Goes on after the wait. 1 when done (link_dial_take()); 0 if not yet; or a negative status, after
 * which the caller may call it again to try again. */
int link_dial_move(struct link_dial *dial, uint64_t now_ms, struct err *err);

/* When done, once: takes the link. NULL: HVD_ERR_NOMEM, or HVD_ERR_ENVIRONMENT if the rank's
 * setting of encryption does not fit ours. */
struct link *link_dial_take(struct link_dial *dial, struct err *err);

/* When done: why the link does not share memory, if the peer is on this host; "" if it does.
 * Borrowed from `dial`. */
const char *link_dial_why(const struct link_dial *dial);

/* "192.0.2.1:4242: connection refused; 172.17.0.1:4242: it cannot prove that it is rank 3" */
void link_dial_causes(const struct link_dial *dial, char text[DIAL_CAUSES_SIZE]);

#endif
