/* SPDX-License-Identifier: Apache-2.0 */
/* A table of memory; see spans.h. Nothing in it is malloc()ed: a forked child loses the table, and
 * would be told of leaks. */
#include "lib/memory/spans.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

static struct span *add(struct spans *spans, const struct span *span)
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

static bool get_memory(struct segment *segment, size_t size)
{
    if (segment_create(segment, size, NULL) == HVD_OK)
        return true;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (size + page - 1) / page * page;
    *segment = (struct segment){ -1, spans_map(whole), whole };
    return segment->memory;
}

/* The pages may still be mapped elsewhere. */
static void give_up(struct span *span)
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
    struct span *added = get_memory(&span.segment, size) ? add(spans, &span) : NULL;
    if (!added) {
        give_up(&span);
        return NULL;
    }
    if (is_pool) {
        madvise(span.pool, sizeof *span.pool, MADV_DONTFORK);
        extents_init(span.pool, (uint32_t)(span.segment.size / SPAN_UNIT));
    }
    return added;
}

void spans_close(struct spans *spans, int at)
{
    struct span span = spans->list[at];
    if (span.segment.fd >= 0)
        segment_index_remove(&spans->index, span.segment.memory);
    memmove(&spans->list[at], &spans->list[at + 1],
            (size_t)(--spans->count - at) * sizeof *spans->list);
    spans->total -= span.segment.size;
    give_up(&span);
}

static bool is_free(const struct span *span)
{
    return span->pool ? extents_is_free(span->pool) : !span->is_taken;
}

static void drop_extent(const struct span *span, const struct extent *extent)
{
    if (!extent->is_taken)
        segment_drop(&span->segment, (size_t)extent->offset * SPAN_UNIT,
                     (size_t)extent->size * SPAN_UNIT);
}

void spans_drop_free(struct spans *spans)
{
    for (int at = spans->count - 1; at >= 0; at--) {
        const struct span *span = &spans->list[at];
        for (int i = 0; span->pool && i < span->pool->count; i++)
            drop_extent(span, &span->pool->list[i]);
        if (is_free(span))
            spans_close(spans, at);
    }
}
