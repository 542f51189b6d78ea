/* SPDX-License-Identifier: Apache-2.0 */
/* Writing around the caches: results and copies that this core will not read soon.
 *
 * An ordinary store first fetches the line that it writes to, and keeps it. When another core has
 * that line, or reads it next, and the two share no cache, each line costs two trips between them;
 * by way of memory it is several times as fast. Where they do share one, or all fits into it, this
 * is slower than ordinary stores: bench/streaming tells both.
 *
 * What was written can be published by a release store as usual. Nothing overlaps, but `out` may be
 * equal to `left` or `right`. Where the processor has no such stores they are ordinary ones. */
#ifndef LIB_REDUCE_COPY_H
#define LIB_REDUCE_COPY_H

#include "lib/reduce/reduce.h"

#include <stddef.h>

void copy_streaming(void *to, const void *from, size_t nbytes);

/* As `reduce` and `divide`, of elements of `size` bytes. */
void reduce_streaming(reduce_fn *reduce, void *out, const void *left, const void *right,
                      size_t count, size_t size);
void divide_streaming(divide_fn *divide, void *out, const void *left, const void *right,
                      size_t count, int divisor, size_t size);

#endif
