/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a range: which are taken, and which of the free parts have been taken since they
 * were last fresh. Pure arithmetic in units. A request takes the lowest free part that fits, fresh
 * or used or both.
 *
 *   fresh -> taken -> used -> taken or fresh */
#ifndef LIB_MEMORY_EXTENTS_H
#define LIB_MEMORY_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

enum { EXTENTS_MAX = 4096 };

/* In order of offset and without a gap: the next part begins where the previous one ends. No two
 * neighbours are both fresh, or both used. */
struct extents {
    int count, taken; /* parts */
    uint32_t used;    /* units */
    struct extent {
        uint32_t offset, size;
        enum { EXTENT_FRESH, EXTENT_USED, EXTENT_TAKEN } state;
    } list[EXTENTS_MAX];
};

/* Makes [0, size) fresh. */
void extents_init(struct extents *extents, uint32_t size);

/* Takes `size` (at least 1) units from a multiple of `alignment` on. False: no part fits, or there
 * are too many parts. */
bool extents_take(struct extents *extents, uint32_t size, uint32_t alignment, uint32_t *offset);

/* Gives back the part that begins at `offset`, and returns its size; 0: no part was taken there. */
uint32_t extents_give(struct extents *extents, uint32_t offset);

/* Makes what is used of part `index` fresh, or the end of it from a multiple of `alignment` on, of
 * `least` units if there are so many: false if nothing is. `refreshed` is that, with what is fresh
 * around it up to multiples of `alignment`: of what lies between two of these all is fresh by now,
 * or not yet. Parts below it keep their index, but for the one before it, which may become one with
 * it. */
bool extents_refresh(struct extents *extents, int index, uint32_t least, uint32_t alignment,
                     struct extent *refreshed);

bool extents_is_free(const struct extents *extents);

#endif
