/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of finished operations, kept for later ones; see operation_impl.h.
 *
 * Free blocks are in a list, the most recent one in front. A request gets the smallest block that
 * is large enough and not much too large. The kept bytes are bounded: beyond the bound the block
 * that has been free longest goes back to the system. */
#include "lib/collective/operation_impl.h"

#include <stdlib.h>

enum { KEPT_BLOCKS = 32, SMALL = 4096 };
static const size_t kept_bytes = 64u << 20;

struct block {
    _Alignas(OPERATION_ALIGNMENT) struct block *next;
    size_t size; /* of the memory behind this */
};

struct operation_store {
    struct block *free;
    size_t nbytes;
    int count;
};

struct operation_store *operation_store_create(void)
{
    return calloc(1, sizeof(struct operation_store));
}

static void unlink_block(struct operation_store *store, struct block **link)
{
    struct block *block = *link;
    *link = block->next;
    store->nbytes -= block->size;
    store->count--;
}

static void operation_store_release(struct operation_store *store, struct block **link)
{
    struct block *block = *link;
    unlink_block(store, link);
    free(block);
}

void operation_store_destroy(struct operation_store *store)
{
    while (store && store->free)
        operation_store_release(store, &store->free);
    free(store);
}

/* Rounds up to the next of eight steps between two powers of two, so that blocks fit requests of
 * nearly the same size. 0 for a size that is too large. */
static size_t round_up(size_t size)
{
    size_t step = OPERATION_ALIGNMENT;
    while (step < size / 8)
        step *= 2;
    return size > SIZE_MAX - step - sizeof(struct block) ? 0 : (size + step - 1) / step * step;
}

static struct block **find_fit(struct operation_store *store, size_t size)
{
    struct block **best = NULL;
    for (struct block **link = &store->free; *link; link = &(*link)->next) {
        size_t found = (*link)->size;
        bool fits = found >= size && (found <= SMALL || found / 2 <= size);
        if (fits && (!best || found < (*best)->size))
            best = link;
    }
    return best;
}

void *operation_alloc(struct operation_store *store, size_t size)
{
    struct block **fit = find_fit(store, size);
    struct block *block = fit ? *fit : NULL;
    if (fit) {
        unlink_block(store, fit);
        return block + 1;
    }
    size_t rounded = round_up(size);
    if (size > rounded)
        return NULL;
    block = aligned_alloc(OPERATION_ALIGNMENT, sizeof *block + rounded);
    if (!block)
        return NULL;
    block->size = rounded;
    return block + 1;
}

static void drop_oldest(struct operation_store *store)
{
    struct block **link = &store->free;
    while ((*link)->next)
        link = &(*link)->next;
    operation_store_release(store, link);
}

void operation_free(struct operation_store *store, void *memory)
{
    if (!memory)
        return;
    struct block *block = (struct block *)memory - 1;
    block->next = store->free;
    store->free = block;
    store->nbytes += block->size;
    store->count++;
    while (store->nbytes > kept_bytes || store->count > KEPT_BLOCKS)
        drop_oldest(store);
}
