/* SPDX-License-Identifier: Apache-2.0 */
/* The spans of a heap: pieces of memory, each a segment, or private where no segment can be made. A
 * freed part keeps its pages until they are dropped, and its span until the span is closed. Only
 * one thread at a time may use the table, except the index. */
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
    struct extents *pool;   /* in units of SPAN_UNIT bytes; NULL: one allocation takes all */
    bool is_taken;          /* without a pool */
    size_t kept;    /* without a pool: how much of its beginning is free and may have pages */
    uint64_t freed; /* the greater, the later the span became free */
};

enum { SPAN_UNIT = 64 };

/* Zeroed means empty. */
struct spans {
    struct segment_index index; /* the spans that are segments */
    uint64_t numbers;           /* segment numbers used so far */
    uint64_t freed;             /* how often a span became free */
    size_t total;               /* bytes */
    size_t kept;                /* bytes that are free and may have pages */
    int count;
    struct span list[SEGMENTS_MAX]; /* in order of address */
};

/* Zeroed pages that leak checkers ignore; NULL when out of memory. */
void *spans_map(size_t size);

/* Opens a span of at least `size` bytes, taken or a pool. Closes free spans when there is no
 * memory, or no segment, otherwise. NULL when out of memory. A span stays in its place until the
 * next one is opened or closed. */
struct span *spans_open(struct spans *spans, size_t size, bool is_pool);

/* The index of the span in which `memory` lies, or -1. */
int spans_find(const struct spans *spans, const void *memory);

/* A part of a pool, or all of a free span; NULL if it does not fit, or is taken. */
void *spans_take(struct spans *spans, struct span *span, size_t nbytes);

/* Gives back what begins at `memory`, in span `at`. True if the whole span is free now. */
bool spans_give(struct spans *spans, int at, const void *memory);

/* Gives pages of free memory back to the system until `most` bytes are kept. */
void spans_drop(struct spans *spans, size_t most);

/* Closes free spans, except the `most` that became free last. */
void spans_close_free(struct spans *spans, int most);

#endif
