/* SPDX-License-Identifier: Apache-2.0 */
/* A pool of memory blocks; see pool.h. */
#include "lib/negotiation/pool.h"

#include <stdlib.h>

void *pool_new(size_t nbytes)
{
    int class = pool_class(nbytes);
    return malloc(class < POOL_CLASSES ? (size_t)POOL_LEAST << class : nbytes);
}

bool pool_reserve(struct pool *pool, size_t nbytes, int count)
{
    int class = pool_class(nbytes);
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
