/* SPDX-License-Identifier: Apache-2.0 */
/* A table of the pieces that are allocated while a simulated process runs (open addressing by
 * address); see memory.h. The build wraps the functions (local.mk). What the C library allocates on
 * its own behalf (asprintf) is not seen. */
#include "tests/simulator/memory.h"

#include "tests/simulator/journal.h"
#include "tests/simulator/pool.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *piece);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t count, size_t size);
void __wrap_free(void *piece);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t length);

/* Of pool.h: nobody's. */
void *sim_grow(void *old, size_t nbytes)
{
    void *grown = __real_realloc(old, nbytes);
    if (!grown)
        abort();
    return grown;
}

static struct entry {
    void *piece; /* NULL: free; TOMB: was taken */
    struct sim_process *process;
} * table;
static size_t size, used; /* used: with tombs */

#define TOMB ((void *)(uintptr_t)1)

static size_t slot_of(const void *piece)
{
    return (size_t)(((uintptr_t)piece >> 4) * 0x9E3779B97F4A7C15u >> 20) & (size - 1);
}

static void put(void *piece, struct sim_process *process);

static void grow(void)
{
    struct entry *old = table;
    size_t old_size = size;
    size = size ? 2 * size : 4096;
    table = __real_calloc(size, sizeof *table);
    if (!table)
        abort();
    used = 0;
    for (size_t i = 0; i < old_size; i++)
        if (old[i].piece && old[i].piece != TOMB)
            put(old[i].piece, old[i].process);
    __real_free(old);
}

static void put(void *piece, struct sim_process *process)
{
    if (2 * (used + 1) > size)
        grow();
    size_t at = slot_of(piece);
    while (table[at].piece && table[at].piece != TOMB)
        at = (at + 1) & (size - 1);
    used += !table[at].piece;
    table[at] = (struct entry){ piece, process };
}

static void take(const void *piece)
{
    size_t at = size ? slot_of(piece) : 0;
    while (size && table[at].piece && table[at].piece != piece)
        at = (at + 1) & (size - 1);
    if (!size || !table[at].piece)
        return;
    table[at].piece = TOMB;
    table[at].process->pieces--;
}

void sim_memory_check(const struct sim_process *process)
{
    if (process->pieces > 0)
        sim_broken("%s (pid %d) leaves %zu pieces of memory", sim_process_name(process),
                   process->pid, process->pieces);
}

void sim_memory_reset(void)
{
    for (size_t i = 0; i < size && used > 0; i++)
        if (table[i].piece && table[i].piece != TOMB)
            __real_free(table[i].piece);
    if (used > 0)
        memset(table, 0, size * sizeof *table);
    used = 0;
}

static void *track(void *piece)
{
    if (piece && sim_current()) {
        put(piece, sim_current());
        sim_current()->pieces++;
    }
    return piece;
}

void *__wrap_malloc(size_t nbytes)
{
    return track(__real_malloc(nbytes));
}

void *__wrap_calloc(size_t count, size_t nbytes)
{
    return track(__real_calloc(count, nbytes));
}

void *__wrap_realloc(void *old, size_t nbytes)
{
    if (old)
        take(old);
    return track(__real_realloc(old, nbytes));
}

void *__wrap_reallocarray(void *old, size_t count, size_t nbytes)
{
    size_t all;
    if (__builtin_mul_overflow(count, nbytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return __wrap_realloc(old, all);
}

void __wrap_free(void *piece)
{
    if (piece)
        take(piece);
    __real_free(piece);
}

char *__wrap_strndup(const char *text, size_t length)
{
    size_t actual = strnlen(text, length);
    char *copy = __wrap_malloc(actual + 1);
    if (copy) {
        memcpy(copy, text, actual);
        copy[actual] = '\0';
    }
    return copy;
}

char *__wrap_strdup(const char *text)
{
    return __wrap_strndup(text, strlen(text));
}
