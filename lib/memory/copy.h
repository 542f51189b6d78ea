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
 * copy_cached() is for little data in a cache. From 2112 bytes on, memcpy() of the GNU C library
 * leaves the copy to one instruction, `rep movsb`, where the processor says that it is fast for
 * short copies (FSRM). It is the fastest for much data, but slow to begin: an allreduce of 4 KiB
 * over shared memory took a tenth longer than with copies in two parts, which use vectors. */
#ifndef LIB_MEMORY_COPY_H
#define LIB_MEMORY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* False: this processor has no such stores, and copy_streaming() uses ordinary ones. */
bool copy_can_stream(void);

void copy_streaming(void *to, const void *from, size_t nbytes);

/* Less than COPY_VECTORS bytes are copied with vectors; up to COPY_TWO_MOST, two parts are. */
enum { COPY_VECTORS = 2112, COPY_TWO_MOST = 2 * (COPY_VECTORS - 64) + 63 };

static inline void copy_cached(void *to, const void *from, size_t nbytes)
{
    size_t first = 0;
    if (nbytes >= COPY_VECTORS && nbytes <= COPY_TWO_MOST)
        memcpy(to, from, first = nbytes / 2 / 64 * 64);
    memcpy((unsigned char *)to + first, (const unsigned char *)from + first, nbytes - first);
}

#endif
