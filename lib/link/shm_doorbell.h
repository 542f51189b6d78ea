/* SPDX-License-Identifier: Apache-2.0 */
/* How the two sides of shared memory wake each other, and notice that the other one has died: the
 * unix socket over which they met. It also carries descriptors.
 *
 * A side that wants to sleep writes into shared memory what it waits for, and looks once more. Who
 * has changed something then sees that, takes it back and sends a byte. While nobody sleeps the
 * kernel is asked for nothing.
 *
 * No wake-up is lost: the change and the look at `waits` on one side, `waits` and the look for the
 * change on the other, are sequentially consistent, hence in one order that both see. If the changer
 * does not see `waits`, it looked before it was written; then the change was before that, and the
 * sleeper, which looks after it has written, sees the change. */
#ifndef LIB_LINK_SHM_DOORBELL_H
#define LIB_LINK_SHM_DOORBELL_H

#include "lib/base/status.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SHM_APART = 128 }; /* processors fetch cache lines in pairs */

/* What a side waits for. */
enum { SHM_WAITS_FOR_ENTRIES = 1, SHM_WAITS_FOR_ROOM = 2 };

enum shm_ending {
    SHM_OPEN,
    SHM_CLOSED,  /* nothing more will come */
    SHM_GIVEN_UP /* nor may bytes be believed any more that were offered and not taken */
};

enum shm_can { SHM_NOT_KNOWN, SHM_CAN, SHM_CANNOT };

/* What a side says to the other, in shared memory; zeros at first. Only `waits` is written by both. */
struct shm_side {
    alignas(SHM_APART) _Atomic uint32_t waits;
    _Atomic uint32_t ending;                   /* enum shm_ending */
    _Atomic uint32_t can_fetch;                /* enum shm_can: at the other's addresses */
    alignas(SHM_APART) _Atomic uint32_t read;  /* shm_ring.h: of the other's entries */
    alignas(SHM_APART) _Atomic uint64_t taken; /* of what the other has offered */
    _Atomic uint32_t answered;                 /* so many segments are mapped, or refused */
    _Atomic uint64_t refused; /* a bit for each slot: what is there is not mapped */
    _Atomic uint32_t asked;   /* link_shm_fill.c: for so many pieces that cannot be read */
    _Atomic uint32_t filled;  /* and the last that the other has asked for and can have */
};

enum { SHM_PASSED_MAX = 16 /* descriptors under way */, SHM_WHY_SIZE = 128 };

struct shm_doorbell {
    int fd;
    struct shm_side *own, *other;
    bool asleep;            /* `waits` may be set; bytes may have come */
    bool dead;              /* the other side is gone, as the kernel says, or cannot be reached */
    char why[SHM_WHY_SIZE]; /* the first reason; "": it has closed */

    /* Descriptors that have come, in order, -1 for one that this process could not have. */
    int passed[SHM_PASSED_MAX];
    unsigned first_passed, passed_count;
};

/* Takes `fd` over. */
void shm_doorbell_init(struct shm_doorbell *doorbell, int fd, struct shm_side *own,
                       struct shm_side *other);
void shm_doorbell_fini(struct shm_doorbell *doorbell);

/* Something has changed (with a sequentially consistent store) that the other side may wait for. */
void shm_doorbell_ring(struct shm_doorbell *doorbell, uint32_t what);

/* Says what we wait for. The caller looks once more, and if there is something, wakes up. */
void shm_doorbell_sleep(struct shm_doorbell *doorbell, uint32_t waits);

/* Waits for nothing any more; sees whether the other side is gone. */
void shm_doorbell_wake(struct shm_doorbell *doorbell);

/* Asks the kernel whether the other side is gone. */
bool shm_doorbell_check(struct shm_doorbell *doorbell);

/* When that is so: HVD_ERR_PEER_LOST, and why. */
int shm_doorbell_lost(const struct shm_doorbell *doorbell, struct err *err);

/* Passes a descriptor, which stays the caller's: true, or false when that is not possible now. */
bool shm_doorbell_pass(struct shm_doorbell *doorbell, int fd);

/* The next descriptor that was passed, for close(), or -1. */
int shm_doorbell_take(struct shm_doorbell *doorbell);

#endif
