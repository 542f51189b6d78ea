/* SPDX-License-Identifier: Apache-2.0 */
/* The segments of our heap that the peer knows, and for each the number, one of SHM_SLOTS
 * (shm_imported.h). A segment without a number gets one when it is needed: a free number, or the
 * number of the segment that has not been needed for longest. A number is used once the peer has
 * answered whether it has mapped the segment. Pure. */
#ifndef LIB_LINK_SHM_EXPORTED_H
#define LIB_LINK_SHM_EXPORTED_H

#include <stdbool.h>
#include <stdint.h>

enum { SHM_SLOTS = 64 };

/* Zeros: nothing is exported. */
struct shm_exported {
    uint64_t segments[SHM_SLOTS]; /* shared_heap.h; 0 for none */
    uint64_t needed[SHM_SLOTS];   /* time on a clock that ticks with each use */
    uint64_t now;
    int last;                  /* the slot that was used last */
    uint32_t order[SHM_SLOTS]; /* number of its segment in order of export */
    uint32_t count;            /* exported, ever */
};

/* The slot of `segment`, which is needed now, or -1. */
int shm_exported_find(struct shm_exported *exported, uint64_t segment);

/* The slot that `segment` should get. */
int shm_exported_choose(const struct shm_exported *exported);
void shm_exported_set(struct shm_exported *exported, int slot, uint64_t segment);

/* The peer has answered so many segments, in order of export: has it answered this slot's segment?
 * And how many are unanswered? */
bool shm_exported_is_answered(const struct shm_exported *exported, int slot, uint32_t answered);
uint32_t shm_exported_open(const struct shm_exported *exported, uint32_t answered);

#endif
