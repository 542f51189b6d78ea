/* SPDX-License-Identifier: Apache-2.0 */
/* The table of spans; see spans.h. The table uses no malloc(): a forked child loses the table, and
 * a leak checker would report its blocks as leaks. */
#include "lib/memory/spans.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 /* at least */, PAGE_UNITS = PAGE / SPAN_UNIT };

void *spans_map(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* How many begin at or below `memory`. */
static int spans_up_to(const struct spans *spans, const void *memory)
{
    int low = 0, high = spans->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if ((uintptr_t)spans->list[middle].segment.memory <= (uintptr_t)memory)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int spans_find(const struct spans *spans, const void *memory)
{
    int at = spans_up_to(spans, memory) - 1;
    if (at < 0)
        return -1;
    const struct segment *segment = &spans->list[at].segment;
    return (uintptr_t)memory - (uintptr_t)segment->memory < segment->size ? at : -1;
}

static struct span *spans_add(struct spans *spans, const struct span *span)
{
    const struct segment *segment = &span->segment;
    int at = spans_up_to(spans, segment->memory);
    if (spans->count == SEGMENTS_MAX)
        return NULL;
    if (segment->fd >= 0)
        segment_index_add(&spans->index, segment->memory, segment->size, ++spans->numbers,
                          segment->fd);
    memmove(&spans->list[at + 1], &spans->list[at], (size_t)(spans->count++ - at) * sizeof *span);
    spans->list[at] = *span;
    spans->total += segment->size;
    return &spans->list[at];
}

static bool get_memory(struct spans *spans, struct segment *segment, size_t size)
{
    if (segment_create(segment, size, NULL) == HVD_OK)
        return true;
    spans_close_free(spans, 0);
    if (segment_create(segment, size, NULL) == HVD_OK)
        return true;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    *segment = (struct segment){ -1, spans_map(whole), whole };
    return segment->memory;
}

/* The pages may still be mapped elsewhere. */
static void spans_give_up(struct span *span)
{
    if (span->pool)
        munmap(span->pool, sizeof *span->pool);
    if (span->segment.fd >= 0)
        segment_drop(&span->segment, 0, span->segment.size);
    segment_close(&span->segment);
}

struct span *spans_open(struct spans *spans, size_t size, bool is_pool)
{
    struct span span = { .is_taken = !is_pool };
    if (is_pool && !(span.pool = spans_map(sizeof *span.pool)))
        return NULL;
    if (spans->count == SEGMENTS_MAX)
        spans_close_free(spans, 0);
    struct span *added = get_memory(spans, &span.segment, size) ? spans_add(spans, &span) : NULL;
    if (!added) {
        spans_give_up(&span);
        return NULL;
    }
    if (is_pool) {
        madvise(span.pool, sizeof *span.pool, MADV_DONTFORK);
        extents_init(span.pool, (uint32_t)(span.segment.size / SPAN_UNIT));
    }
    return added;
}

static size_t kept_of(const struct span *span)
{
    return span->pool ? (size_t)span->pool->used * SPAN_UNIT : span->kept;
}

static bool is_free(const struct span *span)
{
    return span->pool ? extents_is_free(span->pool) : !span->is_taken;
}

static void close_span(struct spans *spans, int at)
{
    struct span span = spans->list[at];
    if (span.segment.fd >= 0)
        segment_index_remove(&spans->index, span.segment.memory);
    memmove(&spans->list[at], &spans->list[at + 1],
            (size_t)(--spans->count - at) * sizeof *spans->list);
    spans->total -= span.segment.size;
    spans->kept -= kept_of(&span);
    spans_give_up(&span);
}

/* Requests of a page or more get whole pages, which can be given back. */
static void *carve(struct span *span, size_t nbytes)
{
    size_t size = nbytes > 0 ? (nbytes + SPAN_UNIT - 1) / SPAN_UNIT : 1;
    uint32_t alignment = 1, offset;
    if (size >= PAGE_UNITS) {
        size = (size + PAGE_UNITS - 1) / PAGE_UNITS * PAGE_UNITS;
        alignment = PAGE_UNITS;
    }
    if (!extents_take(span->pool, (uint32_t)size, alignment, &offset))
        return NULL;
    return span->segment.memory + (size_t)offset * SPAN_UNIT;
}

static void *take_all(struct span *span, size_t nbytes)
{
    if (span->is_taken || nbytes > span->segment.size)
        return NULL;
    span->is_taken = true;
    span->kept = 0;
    return span->segment.memory;
}

void *spans_take(struct spans *spans, struct span *span, size_t nbytes)
{
    size_t before = kept_of(span);
    void *memory = span->pool ? carve(span, nbytes) : take_all(span, nbytes);
    spans->kept -= before - kept_of(span);
    return memory;
}

static bool give(struct span *span, size_t offset)
{
    if (span->pool)
        return extents_give(span->pool, (uint32_t)(offset / SPAN_UNIT)) > 0;
    if (offset > 0 || !span->is_taken)
        return false;
    span->is_taken = false;
    span->kept = span->segment.size;
    return true;
}

bool spans_give(struct spans *spans, int at, const void *memory)
{
    struct span *span = &spans->list[at];
    size_t before = kept_of(span);
    bool given = give(span, (size_t)((const unsigned char *)memory - span->segment.memory));
    spans->kept += kept_of(span) - before;
    if (!given || !is_free(span))
        return false;
    span->freed = ++spans->freed;
    return true;
}

/* Drops pages at the end of the kept memory: the next allocation uses the beginning. */
static void spans_drop_excess(struct span *span, size_t excess)
{
    size_t kept = span->kept;
    if (!span->pool) {
        span->kept = kept > excess ? (kept - excess) / PAGE * PAGE : 0;
        segment_drop(&span->segment, span->kept, kept - span->kept);
        return;
    }
    const uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE) / SPAN_UNIT;
    size_t enough = kept_of(span) > excess ? kept_of(span) - excess : 0;
    for (int i = span->pool->count - 1; i >= 0 && kept_of(span) > enough; i--) {
        struct extent part;
        size_t least = (kept_of(span) - enough + SPAN_UNIT - 1) / SPAN_UNIT;
        if (extents_refresh(span->pool, i, (uint32_t)least, page, &part))
            segment_drop(&span->segment, (size_t)part.offset * SPAN_UNIT,
                         (size_t)part.size * SPAN_UNIT);
    }
}

void spans_drop(struct spans *spans, size_t most)
{
    for (int at = spans->count - 1; at >= 0 && spans->kept > most; at--) {
        struct span *span = &spans->list[at];
        size_t before = kept_of(span);
        if (span->segment.fd < 0 && is_free(span)) {
            close_span(spans, at);
            continue;
        }
        spans_drop_excess(span, spans->kept - most);
        spans->kept -= before - kept_of(span);
    }
}

void spans_close_free(struct spans *spans, int most)
{
    for (;;) {
        int count = 0, first = -1;
        for (int at = 0; at < spans->count; at++)
            if (is_free(&spans->list[at])) {
                count++;
                if (first < 0 || spans->list[at].freed < spans->list[first].freed)
                    first = at;
            }
        if (count <= most)
            return;
        close_span(spans, first);
    }
}
