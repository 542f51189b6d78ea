/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a simulated accelerator: addresses that nobody can use, and the bytes that they
 * stand for, which are elsewhere. */
#ifndef EXAMPLES_SUPPORT_ACCELERATOR_MEMORY_H
#define EXAMPLES_SUPPORT_ACCELERATOR_MEMORY_H

#include <stddef.h>

enum { ACCELERATOR_ALIGNMENT = 64 };

struct accelerator_block;

struct accelerator_memory {
    char *addresses; /* `size` of them, neither to be read nor written */
    char *bytes;     /* as many, for the accelerator's threads */
    size_t size;
    size_t used;
    struct accelerator_block *blocks; /* owned; all of the memory, by ascending address */
};

/* Returns 0, or an errno. */
int accelerator_memory_init(struct accelerator_memory *memory, size_t size);
void accelerator_memory_fini(struct accelerator_memory *memory);

/* The first free piece that is large enough; NULL when there is none. Nothing takes a piece too. */
void *accelerator_memory_take(struct accelerator_memory *memory, size_t nbytes);

/* Gives back what accelerator_memory_take() has returned. */
void accelerator_memory_give(struct accelerator_memory *memory, void *address);

/* Where the bytes are, if all `nbytes` from `address` on are in one piece that is taken; else
 * NULL. */
void *accelerator_memory_find(const struct accelerator_memory *memory, const void *address,
                              size_t nbytes);

#endif
