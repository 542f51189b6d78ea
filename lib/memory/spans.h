/* SPDX-License-Identifier: Apache-2.0 */
/* What a heap is made of: pieces of memory, each a segment, or private where none can be had. One
 * thread at a time, but for the index. */
#ifndef LIB_MEMORY_SPANS_H
#define LIB_MEMORY_SPANS_H

#include "lib/memory/extents.h"
#include "lib/memory/segment.h"
#include "lib/memory/segment_index.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct span {
    struct segment segment; /* fd is -1: private memory */
    struct extents *pool;   /* in units of SPAN_UNIT bytes; NULL: one allocation has it all */
    bool is_taken;          /* without a pool; else it is kept for the next */
};

enum { SPAN_UNIT = 64 };

/* Of zeros: none. */
struct spans {
    struct segment_index index; /* those that are segments */
    uint64_t numbers;           /* given out so far */
    size_t total;               /* bytes */
    int count;
    struct span list[SEGMENTS_MAX]; /* in order of address */
};

/* Pages of zeros that no leak checker asks about; NULL when out of memory. */
void *spans_map(size_t size);

/* At least `size` bytes; taken, or a pool. NULL when out of memory. A span stays where it is until
 * the next is opened or closed. */
struct span *spans_open(struct spans *spans, size_t size, bool is_pool);
void spans_close(struct spans *spans, int at);

/* The one in which `memory` lies, or -1. */
int spans_find(const struct spans *spans, const void *memory);

/* Whatever is free in there goes back to the system. */
void spans_drop_free(struct spans *spans);

#endif
