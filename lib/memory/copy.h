/* SPDX-License-Identifier: Apache-2.0 */
/* Non-temporal stores, which bypass the caches, for copies that this core will not read soon.
 *
 * An ordinary store first fetches the cache line that it writes to, and keeps the line. When
 * another core has that line, or reads it next, and the two cores share no cache, each line costs
 * two trips between them; the way through memory is several times as fast. Where the cores share a
 * cache, non-temporal stores are slower than ordinary ones: bench/streaming measures both.
 *
 * A release store publishes the written data as usual. Arguments must not overlap. */
#ifndef LIB_MEMORY_COPY_H
#define LIB_MEMORY_COPY_H

#include <stdbool.h>
#include <stddef.h>

/* False: this processor has no such stores, and copy_streaming() uses ordinary ones. */
bool copy_can_stream(void);

void copy_streaming(void *to, const void *from, size_t nbytes);

#endif
