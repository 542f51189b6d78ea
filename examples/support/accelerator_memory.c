/* SPDX-License-Identifier: Apache-2.0 */
/* Two mappings of the same size: one that faults, whose addresses are given out, and one with the
 * bytes. A list of blocks, free and taken, tells which addresses are whose: take the first free one
 * that is large enough and cut off the rest; give it back and join it with free neighbours.
 *
 * Fails when there is no room for the mappings, no free block is large enough, or a block cannot be
 * cut for want of memory. */
#include "examples/support/accelerator_memory.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

struct accelerator_block {
    struct accelerator_block *next;
    size_t offset, size;
    size_t wanted; /* of size, by who has taken it */
    bool taken;
};

static struct accelerator_block *block_create(size_t offset, size_t size)
{
    struct accelerator_block *block = malloc(sizeof *block);
    if (block != NULL)
        *block = (struct accelerator_block){ .offset = offset, .size = size };
    return block;
}

static char *map(size_t size, int protection)
{
    void *mapping =
        mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return mapping == MAP_FAILED ? NULL : mapping;
}

int accelerator_memory_init(struct accelerator_memory *memory, size_t size)
{
    *memory = (struct accelerator_memory){ .size = size };
    memory->addresses = map(size, PROT_NONE);
    memory->bytes = map(size, PROT_READ | PROT_WRITE);
    memory->blocks = block_create(0, size);
    if (memory->addresses != NULL && memory->bytes != NULL && memory->blocks != NULL)
        return 0;
    int error = errno;
    accelerator_memory_fini(memory);
    return error;
}

void accelerator_memory_fini(struct accelerator_memory *memory)
{
    for (struct accelerator_block *block = memory->blocks, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    if (memory->bytes != NULL)
        munmap(memory->bytes, memory->size);
    if (memory->addresses != NULL)
        munmap(memory->addresses, memory->size);
    *memory = (struct accelerator_memory){ 0 };
}

/* Makes the block `size` bytes long; the rest becomes a free one behind it. */
static int cut(struct accelerator_block *block, size_t size)
{
    if (block->size == size)
        return 0;
    struct accelerator_block *rest = block_create(block->offset + size, block->size - size);
    if (rest == NULL)
        return -1;
    rest->next = block->next;
    block->next = rest;
    block->size = size;
    return 0;
}

void *accelerator_memory_take(struct accelerator_memory *memory, size_t nbytes)
{
    if (nbytes > memory->size)
        return NULL;
    size_t size = nbytes == 0 ? 1 : nbytes;
    size = (size + ACCELERATOR_ALIGNMENT - 1) / ACCELERATOR_ALIGNMENT * ACCELERATOR_ALIGNMENT;
    struct accelerator_block *block = memory->blocks;
    while (block != NULL && (block->taken || block->size < size))
        block = block->next;
    if (block == NULL || cut(block, size) < 0)
        return NULL;
    block->taken = true;
    block->wanted = nbytes;
    memory->used += nbytes;
    return memory->addresses + block->offset;
}

/* The block that begins at or before the address; NULL for an address that is not in memory. */
static struct accelerator_block *block_of(const struct accelerator_memory *memory,
                                          const void *address)
{
    uintptr_t base = (uintptr_t)memory->addresses, wanted = (uintptr_t)address;
    if (wanted < base || wanted - base >= memory->size)
        return NULL;
    struct accelerator_block *block = memory->blocks;
    while (block->next != NULL && block->next->offset <= wanted - base)
        block = block->next;
    return block;
}

static void join_free(struct accelerator_block *block)
{
    while (block->next != NULL && !block->taken && !block->next->taken) {
        struct accelerator_block *next = block->next;
        block->size += next->size;
        block->next = next->next;
        free(next);
    }
}

void accelerator_memory_give(struct accelerator_memory *memory, void *address)
{
    struct accelerator_block *block = block_of(memory, address);
    assert(block != NULL && block->taken && memory->addresses + block->offset == (char *)address);
    block->taken = false;
    memory->used -= block->wanted;
    for (block = memory->blocks; block != NULL; block = block->next)
        join_free(block);
}

void *accelerator_memory_find(const struct accelerator_memory *memory, const void *address,
                              size_t nbytes)
{
    const struct accelerator_block *block = block_of(memory, address);
    if (block == NULL || !block->taken)
        return NULL;
    size_t offset = (size_t)((uintptr_t)address - (uintptr_t)memory->addresses);
    if (offset - block->offset > block->wanted || nbytes > block->wanted - (offset - block->offset))
        return NULL;
    return memory->bytes + offset;
}
