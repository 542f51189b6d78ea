/* SPDX-License-Identifier: Apache-2.0 */
/* Two ways of copying that memcpy() does not choose by itself. Arguments must not overlap.
 *
 * copy_streaming() has non-temporal stores, which bypass the caches, for copies that this core will
 * not read soon.
 *
 * An ordinary store first fetches the cache line that it writes to, and keeps the line. When
 * another core has that line, or reads it next, and the two cores share no cache, each line costs
 * two trips between them; the way through memory is several times as fast. Where the cores share a
 * cache, non-temporal stores are slower than ordinary ones: bench/streaming measures both.
 *
 * A release store publishes the written data as usual.
 *
 * copy_cached() is for data in a cache. From 4096 bytes on, memcpy() of the GNU C library for
 * processors with 256-bit vectors leaves the copy to one instruction of the processor, `rep movsb`,
 * which is the fastest for much data but slow to begin: 4096 bytes took up to half as long again as
 * in two parts. */
#ifndef LIB_MEMORY_COPY_H
#define LIB_MEMORY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* False: this processor has no such stores, and copy_streaming() uses ordinary ones. */
bool copy_can_stream(void);

void copy_streaming(void *to, const void *from, size_t nbytes);

/* COPY_ONE_MOST: bytes that memcpy() copies with vectors. COPY_TWO_MOST: so many in two parts. */
enum { COPY_ONE_MOST = 4095, COPY_TWO_MOST = 2 * 4032 };

static inline void copy_cached(void *to, const void *from, size_t nbytes)
{
    size_t first = 0;
    if (nbytes > COPY_ONE_MOST && nbytes <= COPY_TWO_MOST)
        memcpy(to, from, first = nbytes / 2 / 64 * 64);
    memcpy((unsigned char *)to + first, (const unsigned char *)from + first, nbytes - first);
}

#endif
