/* SPDX-License-Identifier: Apache-2.0 */
/* One heap per process:
 *   a small request is a part of a pool, which is a span for many; a large request has a span of
 *   its own.
 *
 * The size of a pool, and the limit between small and large, grow with the heap. So there are few
 * segments: each is a descriptor here and a mapping in every process that reads it. Pages of a pool
 * that are never touched take no memory. Freed memory keeps its pages for reuse, up to KEPT_MAX
 * bytes in all; further pages go back to the system. The SPARE_MAX completely free spans that
 * were freed last stay open, even after their pages went back, so that processes that have read a
 * segment need not map the segment again.
 *
 * When no segment can be made, the span is private memory; when that fails too, the result is NULL.
 *
 * The heap lies in pages that fork() replaces with zeros in the child, and zeros are an empty heap.
 * So a child begins with an empty heap, whatever its parent's threads were changing. Kernels before
 * Linux 4.14 cannot do this; there the heap uses malloc(). */
#include "lib/memory/shared_heap.h"

#include "lib/memory/spans.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
#define POOL_LEAST (64 * MIB)
#define POOL_MOST (16384 * MIB)
#define KEPT_MAX (64 * MIB)
#define KEPT_ENOUGH (60 * MIB) /* after too much was kept: not a system call for each small one */

enum { LARGE = 8 /* more than this part of a pool */, SPARE_MAX = 16 };

struct heap {
    struct spans spans;   /* its index is read without the lock */
    pthread_mutex_t lock; /* zeros are an unlocked mutex */
    enum { UNKNOWN, STRICT, RELAXED } promises;
};

static _Atomic(struct heap *) the_heap;
static atomic_bool is_plain; /* there can be no heap: malloc() */

static struct heap *make_heap(void)
{
    struct heap *heap = spans_map(sizeof *heap), *other = NULL;
    if (!heap)
        return NULL;
    if (madvise(heap, sizeof *heap, MADV_WIPEONFORK) < 0)
        atomic_store(&is_plain, true);
    else if (atomic_compare_exchange_strong(&the_heap, &other, heap))
        return heap;
    munmap(heap, sizeof *heap);
    return other;
}

static size_t pool_size(const struct heap *heap)
{
    size_t size = heap->spans.total / 4 / POOL_LEAST * POOL_LEAST;
    return size < POOL_LEAST ? POOL_LEAST : size > POOL_MOST ? POOL_MOST : size;
}

static void *shared_heap_take(struct heap *heap, struct span *span, size_t nbytes)
{
    return span ? spans_take(&heap->spans, span, nbytes) : NULL;
}

static void *alloc_in_pool(struct heap *heap, size_t nbytes)
{
    for (int at = 0; at < heap->spans.count; at++) {
        struct span *span = &heap->spans.list[at];
        void *memory = span->pool ? shared_heap_take(heap, span, nbytes) : NULL;
        if (memory)
            return memory;
    }
    return shared_heap_take(heap, spans_open(&heap->spans, pool_size(heap), true), nbytes);
}

/* Uses a kept span, unless it is much too large; or opens another. */
static void *alloc_alone(struct heap *heap, size_t nbytes)
{
    for (int at = 0; at < heap->spans.count; at++) {
        struct span *span = &heap->spans.list[at];
        size_t size = span->segment.size;
        bool fits = !span->pool && size >= nbytes && size - nbytes <= size / 4;
        void *memory = fits ? shared_heap_take(heap, span, nbytes) : NULL;
        if (memory)
            return memory;
    }
    struct span *span = spans_open(&heap->spans, nbytes, false);
    return span ? span->segment.memory : NULL;
}

static void give_back(struct heap *heap, int at, const void *memory)
{
    bool is_spare = spans_give(&heap->spans, at, memory);
    if (heap->spans.kept > KEPT_MAX)
        spans_drop(&heap->spans, KEPT_ENOUGH);
    if (is_spare)
        spans_close_free(&heap->spans, SPARE_MAX);
}

/* True if the system does not overcommit memory. */
static bool is_strict(struct heap *heap)
{
    if (heap->promises == UNKNOWN)
        heap->promises = segment_is_promised() ? STRICT : RELAXED;
    return heap->promises == STRICT;
}

/* Where the system promises memory strictly, the pages of a segment must be allocated now, or
 * touching them may raise SIGBUS. */
static void *keep_promise(struct heap *heap, void *memory, size_t nbytes)
{
    int at = memory ? spans_find(&heap->spans, memory) : -1;
    if (at < 0 || heap->spans.list[at].segment.fd < 0 || !is_strict(heap))
        return memory;
    const struct segment *segment = &heap->spans.list[at].segment;
    size_t offset = (size_t)((unsigned char *)memory - segment->memory);
    if (segment_populate(segment, offset, nbytes, NULL) == HVD_OK)
        return memory;
    give_back(heap, at, memory);
    return NULL;
}

void *shared_heap_alloc(size_t nbytes)
{
    struct heap *heap = atomic_load(&the_heap);
    void *memory = NULL;
    if (nbytes > PTRDIFF_MAX - MIB)
        return NULL;
    if (!heap && !(heap = make_heap()))
        return atomic_load(&is_plain)
                   ? aligned_alloc(SPAN_UNIT, (nbytes / SPAN_UNIT + 1) * SPAN_UNIT)
                   : NULL;
    pthread_mutex_lock(&heap->lock);
    if (nbytes <= pool_size(heap) / LARGE)
        memory = alloc_in_pool(heap, nbytes);
    if (!memory)
        memory = alloc_alone(heap, nbytes);
    memory = keep_promise(heap, memory, nbytes);
    pthread_mutex_unlock(&heap->lock);
    return memory;
}

/* Memory that the heap does not know belongs to a parent. */
void shared_heap_free(void *memory)
{
    struct heap *heap = atomic_load(&the_heap);
    if (!heap) {
        free(memory);
        return;
    }
    pthread_mutex_lock(&heap->lock);
    int at = spans_find(&heap->spans, memory);
    if (at >= 0)
        give_back(heap, at, memory);
    pthread_mutex_unlock(&heap->lock);
}

bool shared_heap_find(const void *data, size_t nbytes, struct shared_place *place)
{
    struct heap *heap = atomic_load_explicit(&the_heap, memory_order_acquire);
    return heap && segment_index_find(&heap->spans.index, data, nbytes, place);
}
