/* SPDX-License-Identifier: Apache-2.0 */
/* How far the processors of two ranks are from each other: the time that a cache line takes from
 * one to the other and back. Virtual cores that share a cache take 0.1 us or less, others 0.3 us or
 * more, and a hypervisor may move them at any time; so this is measured again and again.
 *
 * The two sides count a word up in turn: the asking side to odd numbers, the other side to even
 * ones. A side does so only while it has nothing else to do, and never waits for a side that does
 * not answer at once: a question stays in the word until the other side looks. Both sides time the
 * trips, for all links between the two processes (shm_distance_pair.h). A wrong time costs speed
 * and nothing else, so the peer is not checked. */
#ifndef LIB_LINK_SHM_DISTANCE_H
#define LIB_LINK_SHM_DISTANCE_H

#include "lib/link/shm_distance_pair.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* A round trip that takes longer is far. The pauses between two looks are part of it: on an
     * Intel Xeon, where a line takes 0.13 us, 0.16 to 0.23 us are measured. */
    SHM_FAR_NS = 270,
    SHM_DISTANCE_AGAIN = 64 * 1024 * 1024, /* bytes until the next measurement */
    SHM_DISTANCE_TRIES = 8                 /* for a measurement; then the next one is waited for */
};

struct shm_distance {
    _Atomic uint32_t *word;         /* both sides write it; zero at first */
    struct shm_distance_pair *pair; /* of the two processes */
    bool asks;                      /* one of the two sides does */
    bool asked;                     /* the word holds a question of ours */
    int tries;                      /* left for the measurement `due` */
    unsigned due;                   /* the last one that this link has tried */
    uint32_t answer;                /* to our last question */
};

void shm_distance_init(struct shm_distance *distance, struct shm_distance_pair *pair,
                       _Atomic uint32_t *word, bool asks);

/* Before the first measurement both are false. */
bool shm_distance_is_far(const struct shm_distance *distance);
bool shm_distance_is_near(const struct shm_distance *distance);

/* So many bytes were copied or offered: measurements serve the choice between the two, so these say
 * when the next one is due. Any link of the pair makes it. */
void shm_distance_count(struct shm_distance *distance, size_t nbytes);

/* Called while this side has nothing else to do. Takes microseconds at most, and mostly nothing. */
void shm_distance_measure(struct shm_distance *distance);

#endif
