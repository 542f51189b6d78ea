/* SPDX-License-Identifier: Apache-2.0 */
/* Non-temporal stores, which bypass the caches, for results and copies that this core will not read
 * soon.
 *
 * An ordinary store first fetches the cache line that it writes to, and keeps the line. When
 * another core has that line, or reads it next, and the two cores share no cache, each line costs
 * two trips between them; the way through memory is several times as fast. Where the cores share a
 * cache, or all data fit into the cache, non-temporal stores are slower than ordinary ones:
 * bench/streaming measures both.
 *
 * A release store publishes the written data as usual. Arguments must not overlap, but `out` may be
 * equal to `left` or `right`. A processor without such stores uses ordinary ones. */
#ifndef LIB_REDUCE_COPY_H
#define LIB_REDUCE_COPY_H

#include "lib/reduce/reduce.h"

#include <stddef.h>

void copy_streaming(void *to, const void *from, size_t nbytes);

/* Like `reduce` and `divide`, for elements of `size` bytes. */
void reduce_streaming(reduce_fn *reduce, void *out, const void *left, const void *right,
                      size_t count, size_t size);
void divide_streaming(divide_fn *divide, void *out, const void *left, const void *right,
                      size_t count, int divisor, size_t size);

#endif
