/* SPDX-License-Identifier: Apache-2.0 */
/* The agreement of two ranks on a unix socket whether they share memory: after they have proved
 * themselves (link_handshake.h), and before the socket is a link.
 *
 *   initiator                                    acceptor
 *   offer, 64 bytes; with it the segment     ->
 *                                            <-  answer, 64 bytes
 *
 *   offer, answer: 0 magic "HVDS"  4 version u16  6 yes u16 (1: with shared memory, 0: without)
 *          8 size of the segment u64   16 address of the own token u64   24 token, 16 bytes
 *          40 reason u32 when not (enum upgrade_reason)   44 zero
 *
 * The version also counts the layouts of the shared memory (link_shm_impl.h): in 1 no side said
 * which segments it refuses, in 2 no side could ask for memory that it cannot read, in 3 no
 * side measured how far the other one is, in 4 entries had no class. When the answer
 * is no, all fields but magic, version and reason are zero. Fields after the version are read only
 * when the version is ours. The offer may follow the initiator's proof at once, so that the
 * agreement takes no extra time. If one side says no, the socket itself is the link, and both sides
 * know the reason. Nonblocking, as link_handshake_run.h. Fails with HVD_ERR_PEER_LOST or
 * HVD_ERR_PROTOCOL; a no is not a failure. */
#ifndef LIB_LINK_LINK_UPGRADE_H
#define LIB_LINK_LINK_UPGRADE_H

#include "lib/base/transport.h"
#include "lib/link/link_shm.h"

#include <stdbool.h>

enum { UPGRADE_VERSION = 5, UPGRADE_SIZE = 64, UPGRADE_WHY_SIZE = 96 };

/* Why a side says no. */
enum upgrade_reason {
    UPGRADE_NO_REASON, /* the peer has said no */
    UPGRADE_TRANSPORT, /* the HVD_TRANSPORT of the side that says no */
    UPGRADE_NO_SEGMENT,
    UPGRADE_NOT_PASSED, /* the descriptor was not sent, or has not come */
    UPGRADE_NOT_MAPPED,
    UPGRADE_OTHER_VERSION
};

/* initiator:  says -> hears -> done;  acceptor:  hears -> says -> done */
enum upgrade_state { UPGRADE_HEARS, UPGRADE_SAYS, UPGRADE_DONE };

struct link_upgrade {
    enum upgrade_state state;
    bool initiates;
    bool shares; /* this side says yes; when done: both do */
    struct segment segment;
    struct shm_peer peer;
    unsigned char message[UPGRADE_SIZE]; /* the message to send or receive, and how much is done */
    size_t moved;
    int passed;                 /* the descriptor that has come, until it is adopted; else -1 */
    char why[UPGRADE_WHY_SIZE]; /* why not; "" while no reason is known */
};

/* `fd` is the socket, `own` what this rank wants. */
void link_upgrade_initiate(struct link_upgrade *upgrade, int fd, enum transport own);
void link_upgrade_accept(struct link_upgrade *upgrade, int fd, enum transport own);

/* Undoes an upgrade that is not done, or from which no link was made. */
void link_upgrade_fini(struct link_upgrade *upgrade);

/* Sends what can be sent, and receives nothing: HVD_OK or a negative status. */
int link_upgrade_speak(struct link_upgrade *upgrade, int fd, struct err *err);

/* 1 when done, 0 when the socket must be waited for, or a negative status. */
int link_upgrade_move(struct link_upgrade *upgrade, int fd, struct err *err);

/* The event to wait for: POLLIN or POLLOUT. */
short link_upgrade_events(const struct link_upgrade *upgrade);

/* When done: the link, which takes `fd` over. NULL and `err` when out of memory; then `fd` still
 * belongs to the caller. */
struct link *link_upgrade_finish(struct link_upgrade *upgrade, int fd, struct err *err);

#endif
