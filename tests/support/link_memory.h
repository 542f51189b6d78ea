/* SPDX-License-Identifier: Apache-2.0 */
/* A link in memory, for tests: two ends of a pair of bounded queues. A test decides how many bytes
 * move per call (1 shows every boundary), whether offers are accepted, and can cut the link. */
#ifndef TESTS_SUPPORT_LINK_MEMORY_H
#define TESTS_SUPPORT_LINK_MEMORY_H

#include "lib/link/link.h"

#include <stddef.h>
#include <stdint.h>

/* Two connected ends. At most `step` bytes move per call, at most `capacity` lie in each direction.
 * Each end is closed by link_close(). */
void link_memory_pair(struct link *ends[2], size_t step, size_t capacity);

/* From now on every call at either end moves a random number of bytes, from 0 to `step`. */
void link_memory_shake(struct link *end, uint32_t seed);

/* From now on both ends accept offers and show what has come. */
void link_memory_share(struct link *end);

/* The next bytes that are used where they lie are found to be spoiled. */
void link_memory_revoke(struct link *end);

/* When the other end next receives, `end` has just taken all that was offered to it, and is
 * gone. */
void link_memory_take_and_leave(struct link *end);

/* Both ends fail from now on, as if the cable had been cut. */
void link_memory_cut(struct link *end);

#endif
