/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of memory blocks in sizes of powers of two. A block that is given back is kept for reuse,
 * so that repeated work does not allocate. Blocks beyond POOL_GREATEST come from malloc() each
 * time.
 * Fails when malloc() does. */
#ifndef LIB_NEGOTIATION_POOL_H
#define LIB_NEGOTIATION_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

enum { POOL_CLASSES = 12, POOL_LEAST = 32, POOL_GREATEST = POOL_LEAST << (POOL_CLASSES - 1) };

struct pool_block {
    struct pool_block *next;
};

struct pool {
    struct pool_block *free[POOL_CLASSES];
};

/* The class of blocks of 32, 64, 128, ... bytes; POOL_CLASSES for what is too large. */
static inline int pool_class(size_t nbytes)
{
    if (nbytes <= POOL_LEAST)
        return 0;
    if (nbytes > POOL_GREATEST)
        return POOL_CLASSES;
    return 32 - __builtin_clz((unsigned)(nbytes - 1) / POOL_LEAST);
}

/* Allocates a block when no free one is left. */
void *pool_new(size_t nbytes);

/* A block of at least `nbytes`, not cleared; NULL when out of memory. */
static inline void *pool_get(struct pool *pool, size_t nbytes)
{
    int class = pool_class(nbytes);
    struct pool_block *block = class < POOL_CLASSES ? pool->free[class] : NULL;
    if (!block)
        return pool_new(nbytes);
    pool->free[class] = block->next;
    return block;
}

/* Gives a block back, with the same `nbytes`. NULL is fine. */
static inline void pool_put(struct pool *pool, void *memory, size_t nbytes)
{
    int class = pool_class(nbytes);
    struct pool_block *block = memory;
    if (!block || class == POOL_CLASSES) {
        free(memory);
        return;
    }
    block->next = pool->free[class];
    pool->free[class] = block;
}

/* Makes sure that the next `count` requests for `nbytes` will not fail. */
bool pool_reserve(struct pool *pool, size_t nbytes, int count);

/* Frees the blocks that have been given back; other blocks stay with their users. */
void pool_fini(struct pool *pool);

#endif
