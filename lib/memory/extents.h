/* SPDX-License-Identifier: Apache-2.0 */
/* Which parts of a range are taken: arithmetic in units, nothing else. The lowest part that fits is
 * taken, and free neighbours become one. */
#ifndef LIB_MEMORY_EXTENTS_H
#define LIB_MEMORY_EXTENTS_H

#include <stdbool.h>
#include <stdint.h>

enum { EXTENTS_MAX = 4096 };

/* In order of offset and without a gap: where one ends the next begins. */
struct extents {
    int count;
    struct extent {
        uint32_t offset, size;
        bool is_taken;
    } list[EXTENTS_MAX];
};

/* [0, size) is free. */
void extents_init(struct extents *extents, uint32_t size);

/* Takes `size` (at least 1) units from a multiple of `alignment` on. False: there is no such part,
 * or there are too many parts. */
bool extents_take(struct extents *extents, uint32_t size, uint32_t alignment, uint32_t *offset);

/* Gives back what begins at `offset`, and returns how much that was: 0, nothing was taken there. */
uint32_t extents_give(struct extents *extents, uint32_t offset);

bool extents_is_free(const struct extents *extents);

#endif
