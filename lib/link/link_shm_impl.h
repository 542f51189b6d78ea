/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of link_shm: the memory of a pair, and a side of it. */
#ifndef LIB_LINK_LINK_SHM_IMPL_H
#define LIB_LINK_LINK_SHM_IMPL_H

#include "lib/link/link_shm.h"
#include "lib/link/shm_costs.h"
#include "lib/link/shm_distance.h"
#include "lib/link/shm_doorbell.h"
#include "lib/link/shm_exported.h"
#include "lib/link/shm_imported.h"
#include "lib/link/shm_method.h"
#include "lib/link/shm_ring.h"
#include "lib/link/shm_run.h"

enum { SHM_FILL = 64 * 1024 };

/* The contents of the segment; the side that has created it is the first. */
struct shm_memory {
    struct shm_side sides[2];
    alignas(SHM_APART) _Atomic uint32_t distance; /* shm_distance.h */
    struct shm_ring rings[2];                     /* rings[i] is written by sides[i] */
    unsigned char fills[2][SHM_FILL];             /* as are fills[i] */
};

/* An offer at an address of ours; `at` bytes were offered before it. */
struct shm_offer {
    uint64_t at;
    const unsigned char *data;
    size_t nbytes;
};

/* Each offer that is not taken has an entry, or has just had one. */
enum { SHM_OFFERS = 2 * SHM_ENTRIES };

struct link_shm {
    struct link link;
    struct segment segment;
    struct shm_doorbell doorbell; /* its `own` and `other` are our side and theirs */
    struct err failure;           /* the first, repeated by every call */
    struct shm_distance distance;
    bool streams; /* this processor has stores that bypass the caches */
    int ranks;    /* of this host, 0 if not known */

    /* Sending. */
    struct shm_writer out;
    struct shm_exported exported;
    struct shm_runs runs; /* of memory that the peer has not mapped: private, or refused */
    struct shm_costs costs[SHM_COST_CLASSES]; /* of ways to the peer */
    bool decides;           /* for exchanges: the side that has created the segment */
    uint64_t offered, seen; /* bytes, ever; how many of them taken() has last reported */
    bool is_short;          /* the last try_send() had too little room */

    /* Receiving. */
    struct shm_reader in;
    struct shm_imported imported;
    pid_t pid;                 /* of the peer, 0 if its addresses cannot be read */
    uint64_t fetched;          /* bytes that were offered to us, ever */
    const unsigned char *lies; /* the open entry is SHM_MAPPED: where its next byte lies */
    bool declines;             /* the peer's addresses are not read any more */
    uint32_t asked;            /* number of pieces; the rest of the last one: */
    size_t fill_at, fill_end;
    const unsigned char *in_fill;

    /* Pieces that the peer cannot read at our addresses. */
    unsigned char *out_fill;
    uint32_t filled; /* the last piece */
    unsigned noffers;
    struct shm_offer offers[SHM_OFFERS]; /* a ring: the last ones */
};

struct link_shm *link_shm_of(struct link *link);

/* True if the peer has gone, or will send nothing more. */
bool link_shm_is_gone(const struct link_shm *shm);

/* The number of bytes that the peer claims to have taken, at most the number that was offered,
 * and never less than before. */
static inline uint64_t link_shm_read_taken(const struct link_shm *shm)
{
    uint64_t taken = atomic_load(&shm->doorbell.other->taken);
    return taken - shm->seen <= shm->offered - shm->seen ? taken : shm->seen;
}

/* Copies the failure into `err` and returns its code. */
int link_shm_failed(const struct link_shm *shm, struct err *err);

/* A function is called after sleep(). */
static inline void link_shm_wake(struct link_shm *shm)
{
    if (shm->doorbell.asleep)
        shm_doorbell_wake(&shm->doorbell);
}

/* True if bytes of the peer can be had: an entry that does not wait to be filled. */
bool link_shm_has_bytes(const struct link_shm *shm);

/* link_shm_fill.c, the sender: `nbytes` of ours are about to be offered. */
void link_shm_remember(struct link_shm *shm, const void *data, size_t nbytes);

/* True if the peer has asked for a piece of an offer that it has not taken. */
bool link_shm_is_asked(const struct link_shm *shm);

/* Copies that piece, if so. */
void link_shm_fill(struct link_shm *shm);

/* The receiver: nothing is read at addresses from now on, because of `why`. */
void link_shm_decline(struct link_shm *shm, const struct err *why);

/* Asks for the next piece of the open entry, if the entry needs filling and the last piece is
 * used. */
void link_shm_ask(struct link_shm *shm);

/* True if the receiver has asked, and has no answer. */
bool link_shm_waits_for_fill(const struct link_shm *shm);

/* The rest of the piece; NULL: there is none, or none is needed. */
const unsigned char *link_shm_find_fill(const struct link_shm *shm, size_t *nbytes);

/* link_shm_receive.c: members of the link_type. */
ssize_t link_shm_try_receive(struct link *link, const struct iovec *parts, int count,
                             struct err *err);
const void *link_shm_peek(struct link *link, size_t *nbytes);
int link_shm_consume(struct link *link, size_t nbytes, struct err *err);

#endif
