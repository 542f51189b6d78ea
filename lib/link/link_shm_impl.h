/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of link_shm share: the memory of a pair, and a side of it. */
#ifndef LIB_LINK_LINK_SHM_IMPL_H
#define LIB_LINK_LINK_SHM_IMPL_H

#include "lib/link/link_shm.h"
#include "lib/link/shm_bell.h"
#include "lib/link/shm_foreign.h"
#include "lib/link/shm_lent.h"
#include "lib/link/shm_ring.h"
#include "lib/link/shm_run.h"

/* In the segment; the side that has created it is the first. */
struct shm_memory {
    struct shm_side sides[2];
    struct shm_ring rings[2]; /* rings[i] is written by sides[i] */
};

struct link_shm {
    struct link link;
    struct segment segment;
    struct shm_bell bell; /* its `own` and `other` are our side and theirs */
    struct err failure;   /* the first, repeated by every call */

    /* What we send. */
    struct shm_writer out;
    struct shm_lent lent;
    struct shm_runs runs;   /* of what they have not mapped: private, or refused */
    uint64_t offered, seen; /* bytes, ever; of them, those that taken() has last said are taken */
    bool is_short;          /* the last try_send() had too little room */

    /* What comes. */
    struct shm_reader in;
    struct shm_foreign foreign;
    pid_t pid;                 /* of the other side, 0 if nothing can be read at its addresses */
    uint64_t fetched;          /* bytes that were offered to us, ever */
    const unsigned char *lies; /* the open entry is SHM_MAPPED: where its next byte lies */
};

struct link_shm *link_shm_of(struct link *link);

/* The other side has gone, or will send nothing more. */
bool link_shm_is_gone(const struct link_shm *shm);

/* Copies the failure into `err` and returns its code. */
int link_shm_failed(const struct link_shm *shm, struct err *err);

/* Something is called after sleep(). */
static inline void link_shm_wake(struct link_shm *shm)
{
    if (shm->bell.asleep)
        shm_bell_wake(&shm->bell);
}

/* link_shm_receive.c: members of the link_type. */
ssize_t link_shm_try_receive(struct link *link, const struct iovec *parts, int count,
                             struct err *err);
const void *link_shm_peek(struct link *link, size_t *nbytes);
int link_shm_consume(struct link *link, size_t nbytes, struct err *err);

#endif
