/* SPDX-License-Identifier: Apache-2.0 */
/* The doorbell wakes the peer of a link over shared memory, and shows that the peer has died. It is
 * the unix socket on which both connected, and also carries descriptors.
 *
 * A side that wants to sleep writes into shared memory what it waits for (`waits`), and checks once
 * more. A side that has changed something then sees `waits`, clears it and sends a byte. While no
 * side sleeps there are no system calls.
 *
 * No wake-up is lost. The changer stores its change and loads `waits`; the sleeper stores `waits`
 * and loads the change. All four are sequentially consistent, so both sides see them in one order.
 * If the changer does not see `waits`, it loaded `waits` before the sleeper's store, so the change
 * comes before that store. The sleeper loads after its store, and sees the change. */
#ifndef LIB_LINK_SHM_DOORBELL_H
#define LIB_LINK_SHM_DOORBELL_H

#include "lib/base/status.h"
#include "lib/link/shm_costs.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { SHM_APART = 128 }; /* processors fetch cache lines in pairs */

/* The events that a side waits for. */
enum { SHM_WAITS_FOR_ENTRIES = 1, SHM_WAITS_FOR_ROOM = 2 };

enum shm_ending {
    SHM_OPEN,
    SHM_CLOSED,  /* nothing more will come */
    SHM_GIVEN_UP /* nor may offered bytes be trusted any more that were not taken */
};

enum shm_can { SHM_NOT_KNOWN, SHM_CAN, SHM_CANNOT };

/* A side's words in shared memory, which the other side reads; zeros at first. Only `waits` is
 * written by both sides. */
struct shm_side {
    alignas(SHM_APART) _Atomic uint32_t waits;
    _Atomic uint32_t ending;                   /* enum shm_ending */
    _Atomic uint32_t can_fetch;                /* enum shm_can: at the other's addresses */
    alignas(SHM_APART) _Atomic uint32_t read;  /* shm_ring.h: of the other's entries */
    alignas(SHM_APART) _Atomic uint64_t taken; /* how much of the peer's offers is taken */
    _Atomic uint32_t answered;                 /* number of segments that are mapped, or refused */
    _Atomic uint64_t refused;                  /* a bit for each slot whose segment is not mapped */
    _Atomic uint32_t asked;  /* link_shm_fill.c: number of unreadable pieces asked for */
    _Atomic uint32_t filled; /* number of the last piece that the peer has asked for and can
                               * read */
    /* By class. */
    alignas(SHM_APART) struct shm_side_cost {
        _Atomic uint32_t get, fetch; /* of the other's bytes, 0: not known */
        _Atomic uint32_t choice;     /* shm_costs_publish(), of the side that decides */
    } costs[SHM_COST_CLASSES];
};

enum { SHM_PASSED_MAX = 16 /* descriptors under way */, SHM_WHY_SIZE = 128 };

struct shm_doorbell {
    int fd;
    struct shm_side *own, *other;
    bool asleep;            /* `waits` may be set; bytes may have come */
    bool dead;              /* the peer is gone, says the kernel, or cannot be reached */
    char why[SHM_WHY_SIZE]; /* the first reason; "": it has closed */

    /* Descriptors that have come, in order, -1 for one that this process could not have. */
    int passed[SHM_PASSED_MAX];
    unsigned first_passed, passed_count;
};

/* Takes `fd` over. */
void shm_doorbell_init(struct shm_doorbell *doorbell, int fd, struct shm_side *own,
                       struct shm_side *other);
void shm_doorbell_fini(struct shm_doorbell *doorbell);

/* Wakes the other side if it waits for the change that was just made with a sequentially
 * consistent store. */
void shm_doorbell_ring(struct shm_doorbell *doorbell, uint32_t what);

/* Announces what we wait for. The caller then checks once more, and if there is something, wakes
 * up. */
void shm_doorbell_sleep(struct shm_doorbell *doorbell, uint32_t waits);

/* Stops waiting; sees whether the peer is gone. */
void shm_doorbell_wake(struct shm_doorbell *doorbell);

/* Asks the kernel whether the peer is gone. */
bool shm_doorbell_check(struct shm_doorbell *doorbell);

/* When the peer is gone: HVD_ERR_PEER_LOST, and why. */
int shm_doorbell_lost(const struct shm_doorbell *doorbell, struct err *err);

/* Passes a descriptor, which still belongs to the caller: true, or false when it is not possible
 * now. */
bool shm_doorbell_pass(struct shm_doorbell *doorbell, int fd);

/* The next descriptor that the peer has passed, for close(), or -1. */
int shm_doorbell_take(struct shm_doorbell *doorbell);

#endif
