/* SPDX-License-Identifier: Apache-2.0 */
/* Who belongs to the world, and who must be told what: the rendezvous without bytes, connections or
 * a clock. Events and time go in, actions come out.
 *
 * Happy path: every rank joins, all are welcomed, each leaves. When a rank ends, disconnects or
 * leaves before all have joined, or the start timeout passes, the world cannot become complete:
 * the ranks that wait are refused, and so are ranks that join later. The loss of a rank of a
 * complete world is announced once, to all members.
 *
 *   expected -> joined -> left       said GOODBYE
 *               joined -> broken     its connection is gone; the launcher may still say why
 *               joined -> ended      the launcher says so; its GOODBYE may still be on the way
 *               ended  -> left
 *   expected -> elsewhere            meets the others by itself: Horovod's own workers do
 *   elsewhere -> left                its process ended well
 *   expected, elsewhere, broken, ended -> lost
 *
 *   gathering -> complete -> broken;   gathering -> broken
 *
 * Two departures are announced: the first one, and the first one because of a failure, unless
 * the failure came first. A rank whose world is broken reports this at once; the report counts
 * as a failure, and the rank receives no announcement from then on. A loss is announced also
 * after departures, and nothing is announced after a loss. So a job that simply ends costs one
 * message per rank, not one per pair.
 *
 * The origin of the world's end is the first rank that failed: it has said so itself, maybe
 * through another rank, or it was lost, or it left before all had joined. Later failures are
 * consequences. */
#ifndef RENDEZVOUS_WORLD_MEMBERSHIP_H
#define RENDEZVOUS_WORLD_MEMBERSHIP_H

#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "rendezvous/base/deadline.h"

#include <stdbool.h>
#include <stdint.h>

struct rendezvous_slot;

/* How long a broken connection waits for the launcher's explanation, and an ended process for the
 * bytes that it has sent. */
enum { MEMBERSHIP_GRACE_MS = 100 };

#define MEMBERSHIP_NEVER UINT64_MAX

enum member_state {
    MEMBER_EXPECTED,
    MEMBER_ELSEWHERE,
    MEMBER_JOINED,
    MEMBER_BROKEN,
    MEMBER_ENDED,
    MEMBER_LEFT,
    MEMBER_LOST
};

struct member {
    enum member_state state;
    bool failed;             /* has left because of a failure */
    bool broken;             /* has said that its world is broken */
    uint64_t grace_end_ms;   /* when BROKEN or ENDED becomes LOST */
    struct rank_end_how how; /* what the launcher said of its end; NONE: nothing */
};

enum world_state { WORLD_GATHERING, WORLD_COMPLETE, WORLD_BROKEN };

enum membership_act {
    MEMBERSHIP_WELCOME,  /* tell `rank` its place: membership_welcome() */
    MEMBERSHIP_REFUSE,   /* tell `rank`, which waits, that there will be no world; end with it */
    MEMBERSHIP_NEWS,     /* tell `rank` */
    MEMBERSHIP_COMPLETE, /* tell the launcher that all are there */
    MEMBERSHIP_TIMED_OUT /* tell the launcher that some are not */
};

struct membership_action {
    enum membership_act act;
    int rank;                     /* the addressee, unless it is the launcher */
    const struct rank_end *cause; /* of REFUSE, NEWS, TIMED_OUT; borrowed until the next event */
};

/* One event leaves two announcements at most; a member whose reply cannot be sent adds a third. */
enum { MEMBERSHIP_ANNOUNCEMENTS_MAX = 4 };

struct membership {
    int size;
    uint32_t epoch;                       /* set by the caller */
    struct rendezvous_slot *slots;        /* owned; the names of hosts are borrowed */
    struct member *members;               /* owned */
    struct join_addresses *addresses;     /* owned; untouched memory until a rank has joined */
    unsigned char (*keys)[RANK_KEY_SIZE]; /* owned; likewise */
    int *workers; /* owned; their numbers, for when the launcher is told of the world */
    struct rank_certifier certifier; /* made when the first rank joins */
    bool homogeneous;
    int star;     /* of the tree if the world is crowded (topology.h) */
    bool crowded; /* some rank shares a host with more ranks than it has processors */

    enum world_state world;
    int joined;            /* ranks that have ever said HELLO */
    int elsewhere;         /* members that are ELSEWHERE */
    int in_grace;          /* members that are BROKEN or ENDED */
    uint64_t grace_end_ms; /* not later than the first of their graces ends */
    uint64_t start_timeout_ms, start_deadline_ms;
    bool told_departure, told_failure; /* of ranks that left a complete world */
    struct rank_end cause;             /* what was announced last; why the world is broken */
    struct rank_end
        origin; /* the first failure; its rank is the origin; status HVD_OK: not known */

    struct {
        enum membership_act act;
        int next; /* the addressee to look at next */
    } announcements[MEMBERSHIP_ANNOUNCEMENTS_MAX];
    int announced;
};

/* Expects ranks 0 to size - 1 on `slots`, which are copied. HVD_ERR_NOMEM when out of memory. */
int membership_init(struct membership *membership, const struct rendezvous_slot *slots, int size,
                    uint64_t start_timeout_ms, struct err *err);
void membership_fini(struct membership *membership);

/* A proven HELLO. HVD_OK, or the status and text with which its sender must be refused: another
 * size, a rank that has joined already, a world that is broken. The host that it names is not
 * compared with the launcher's, which may know it by another name. */
int membership_join(struct membership *membership, const struct join_hello *hello, uint64_t now_ms,
                    struct err *err);

/* `rank`, which is expected, meets the others without us. When all do, the world is complete. */
void membership_elsewhere(struct membership *membership, int rank);

/* BROKEN of a rank of a world that was complete: the end that has broken it. */
void membership_word(struct membership *membership, int rank, const struct rank_end *word);

/* GOODBYE of a rank that has joined: the end because of which it leaves. */
void membership_goodbye(struct membership *membership, int rank, const struct rank_end *goodbye);

/* The connection of a rank that has joined is gone. */
void membership_broke(struct membership *membership, int rank, uint64_t now_ms);

/* The launcher saw the process of `rank` end. */
void membership_ended(struct membership *membership, int rank, const struct rank_end_how *how,
                      uint64_t now_ms);

/* A client has ended the job, which breaks the world; `why` is one line. */
void membership_end(struct membership *membership, const char *why);

/* The world before this one has broken because of `cause`. If ranks wait for this one, it
 * breaks, too. */
void membership_follow(struct membership *membership, const struct rank_end *cause);

/* Time has passed. To be called at membership_deadline(); too early does no harm. */
void membership_tick(struct membership *membership, uint64_t now_ms);

/* When membership_tick() is wanted, or MEMBERSHIP_NEVER. Never later than needed. */
uint64_t membership_deadline(const struct membership *membership);

/* The next thing to do; false when all is done. To be called until then after every event. */
bool membership_next(struct membership *membership, struct membership_action *action);

/* Has every rank joined? Ranks may have left since. */
bool membership_was_complete(const struct membership *membership);

/* Can `rank` answer what it is doing? Ranks of a complete world can. */
bool membership_can_answer(const struct membership *membership, int rank);

/* What a member is told once the world is complete. */
void membership_welcome(const struct membership *membership, int rank,
                        struct join_welcome *welcome);

#endif
