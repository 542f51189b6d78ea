/* SPDX-License-Identifier: Apache-2.0 */
/* Ways of copying that memcpy() does not choose by itself. Arguments must not overlap.
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
 * copy_cached() is for data in a cache that this core has, or shares with the core that wrote them.
 * From 2112 bytes on, memcpy() of the GNU C library leaves the copy to one instruction, `rep
 * movsb`, where the processor says that it is fast for short copies (FSRM). On an AMD EPYC of
 * family 25 it is slow to begin (4 KiB took a tenth longer), and, as the addresses happen to be, at
 * half the speed of vectors, which copy_cached() uses. From a core that shares no cache, memcpy()
 * is faster.
 *
 * copy_result() is for part of a result, which this core does not read before the caller does. From
 * COPY_RESULT_STREAMED bytes on, the result does not stay in the caches until then, so it streams.
 * Measured with 2 ranks on 2 processors that share a cache of 32 MiB, and callers that read the
 * whole result: a rank's own rows of 2 MiB (half of an alltoall) take the whole 1.27 of the time,
 * of 4 MiB 1.03, of 8 MiB 0.87, of 32 MiB 0.83. Before callers read them, 2 MiB take 0.83: what
 * measures calls alone misleads here. */
#ifndef LIB_MEMORY_COPY_H
#define LIB_MEMORY_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* False: this processor has no such stores, and copy_streaming() uses ordinary ones. */
bool copy_can_stream(void);

void copy_streaming(void *to, const void *from, size_t nbytes);

enum { COPY_VECTORS = 2112 };

/* What copy_cached() does from COPY_VECTORS bytes on; at least two lines of a cache. */
void copy_lines(void *to, const void *from, size_t nbytes);

static inline void copy_cached(void *to, const void *from, size_t nbytes)
{
    if (nbytes >= COPY_VECTORS) {
        copy_lines(to, from, nbytes);
        return;
    }
    __asm__("" : "+r"(nbytes)); /* of a size with a known bound, GCC itself makes `rep movs` */
    memcpy(to, from, nbytes);
}

enum { COPY_RESULT_STREAMED = 8 * 1024 * 1024 };

static inline void copy_result(void *to, const void *from, size_t nbytes)
{
    if (nbytes >= COPY_RESULT_STREAMED)
        copy_streaming(to, from, nbytes);
    else
        memcpy(to, from, nbytes);
}

#endif
