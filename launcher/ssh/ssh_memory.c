/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks in a list; see ssh_memory.h. Released memory is wiped: it may have held a key. */
#include "launcher/ssh/ssh_memory.h"

#include "launcher/base/xalloc.h"

#include <openssl/crypto.h>
#include <sodium.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

struct ssh_block {
    struct ssh_block *next, **link; /* `link` is the pointer to this block */
    size_t size;
    alignas(max_align_t) unsigned char data[];
};

static struct ssh_block *block_of(void *data)
{
    return (struct ssh_block *)((char *)data - offsetof(struct ssh_block, data));
}

void *ssh_memory_get(struct ssh_memory *memory, size_t size)
{
    if (size > SSH_MEMORY_MAX - memory->held)
        return NULL;
    struct ssh_block *block = xmalloc(sizeof *block + size);
    *block = (struct ssh_block){ memory->first, &memory->first, size };
    if (block->next)
        block->next->link = &block->next;
    memory->first = block;
    memory->held += size;
    return block->data;
}

void ssh_memory_put(struct ssh_memory *memory, void *data)
{
    if (!data)
        return;
    struct ssh_block *block = block_of(data);
    *block->link = block->next;
    if (block->next)
        block->next->link = block->link;
    memory->held -= block->size;
    sodium_memzero(block->data, block->size);
    free(block);
}

void *ssh_memory_resize(struct ssh_memory *memory, void *data, size_t size)
{
    void *resized = ssh_memory_get(memory, size);
    if (!resized || !data)
        return resized;
    size_t before = block_of(data)->size;
    memcpy(resized, data, before < size ? before : size);
    ssh_memory_put(memory, data);
    return resized;
}

static void *crypto_get(size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return xmalloc(size);
}

static void crypto_put(void *data, const char *file, int line)
{
    (void)file, (void)line;
    free(data);
}

static void *crypto_resize(void *data, size_t size, const char *file, int line)
{
    if (size > 0)
        return xrealloc(data, size);
    crypto_put(data, file, line);
    return NULL;
}

void ssh_memory_serve_crypto(void)
{
    CRYPTO_set_mem_functions(crypto_get, crypto_resize, crypto_put);
}

void ssh_memory_fini(struct ssh_memory *memory)
{
    while (memory->first)
        ssh_memory_put(memory, memory->first->data);
}
