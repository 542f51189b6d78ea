/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is used again: blocks in sizes of powers of two, kept when they are given back, so
 * that what repeats does not allocate. Blocks beyond POOL_GREATEST come from malloc() each time.
 * Fails when malloc() does. */
#ifndef LIB_NEGOTIATION_POOL_H
#define LIB_NEGOTIATION_POOL_H

#include <stdbool.h>
#include <stddef.h>

enum { POOL_CLASSES = 12, POOL_LEAST = 32, POOL_GREATEST = POOL_LEAST << (POOL_CLASSES - 1) };

struct pool_block {
    struct pool_block *next;
};

struct pool {
    struct pool_block *free[POOL_CLASSES];
};

/* A block of at least `nbytes`, not cleared; NULL when out of memory. To be given back with the
 * same `nbytes`; NULL is fine. */
void *pool_get(struct pool *pool, size_t nbytes);
void pool_put(struct pool *pool, void *block, size_t nbytes);

/* Makes sure that the next `count` requests for `nbytes` will not fail. */
bool pool_reserve(struct pool *pool, size_t nbytes, int count);

/* Frees what has been given back; the rest stays with who has it. */
void pool_fini(struct pool *pool);

#endif
