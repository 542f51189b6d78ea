/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks that are filled from the front; see pool.h. Under a sanitizer each piece is an allocation
 * of its own, so that a write beyond it is seen. */
#include "tests/simulator/pool.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __SANITIZE_ADDRESS__
enum { BLOCK = 0 };
#else
enum { BLOCK = 1 << 18 };
#endif

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) char bytes[];
};

static struct block *blocks, *spare;

/* Ordinary blocks are kept for the next job. */
void sim_pool_reset(void)
{
    for (struct block *block = blocks, *next; block; block = next) {
        next = block->next;
        if (block->size != BLOCK || BLOCK == 0) {
            free(block);
            continue;
        }
        block->next = spare;
        spare = block;
    }
    blocks = NULL;
}

static struct block *add_block(size_t size)
{
    struct block *block = spare;
    if (size <= BLOCK && block)
        spare = block->next;
    else
        block = sim_grow(NULL, sizeof *block + (size > BLOCK ? size : BLOCK));
    block->size = size > BLOCK ? size : BLOCK;
    block->used = 0;
    block->next = blocks;
    return blocks = block;
}

void *sim_room(size_t size)
{
    size = (size + 15) & ~(size_t)15;
    struct block *block = blocks;
    if (!block || block->size - block->used < size)
        block = add_block(size);
    void *piece = block->bytes + block->used;
    block->used += size;
    return piece;
}

void *sim_new(size_t size)
{
    return memset(sim_room(size), 0, size);
}

char *sim_format(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return memcpy(sim_room(strlen(text) + 1), text, strlen(text) + 1);
}
