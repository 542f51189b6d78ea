/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is used again; see pool.h. */
#include "lib/negotiation/pool.h"

#include <stdlib.h>

/* The class of blocks of 32, 64, 128, ... bytes; POOL_CLASSES for what is too large. */
static int class_of(size_t nbytes)
{
    if (nbytes <= POOL_LEAST)
        return 0;
    if (nbytes > POOL_GREATEST)
        return POOL_CLASSES;
    return 32 - __builtin_clz((unsigned)(nbytes - 1) / POOL_LEAST);
}

void *pool_get(struct pool *pool, size_t nbytes)
{
    int class = class_of(nbytes);
    if (class == POOL_CLASSES)
        return malloc(nbytes);
    struct pool_block *block = pool->free[class];
    if (!block)
        return malloc((size_t)POOL_LEAST << class);
    pool->free[class] = block->next;
    return block;
}

void pool_put(struct pool *pool, void *memory, size_t nbytes)
{
    int class = class_of(nbytes);
    if (!memory || class == POOL_CLASSES) {
        free(memory);
        return;
    }
    struct pool_block *block = memory;
    block->next = pool->free[class];
    pool->free[class] = block;
}

bool pool_reserve(struct pool *pool, size_t nbytes, int count)
{
    int class = class_of(nbytes);
    for (struct pool_block *block = pool->free[class]; block && count > 0; block = block->next)
        count--;
    for (; count > 0; count--) {
        void *block = malloc((size_t)POOL_LEAST << class);
        if (!block)
            return false;
        pool_put(pool, block, nbytes);
    }
    return true;
}

void pool_fini(struct pool *pool)
{
    for (int class = 0; class < POOL_CLASSES; class ++) {
        while (pool->free[class]) {
            struct pool_block *block = pool->free[class];
            pool->free[class] = block->next;
            free(block);
        }
    }
}
