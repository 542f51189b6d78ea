/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that other ranks of this host may read where it lies: what hvd_alloc() gives out, and the
 * engine's fusion buffers. One heap per process, made of segments; usable from any thread, before
 * hvd_init() and after hvd_shutdown(). A forked child has its own (empty) heap: what its parent got
 * stays mapped as long as the parent does not free it, changes of either are seen by both, and it
 * is freed by the parent alone.
 *
 * A segment holds many allocations, and is large: address space of which only what is touched is
 * memory. There are few, so whoever reads them maps few, each for long.
 *
 * Where no segment can be had, memory is private: everything works, and is copied. */
#ifndef LIB_MEMORY_SHARED_HEAP_H
#define LIB_MEMORY_SHARED_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Aligned to 64 bytes at least, to a page from a page on; NULL when out of memory. 0 bytes are a
 * valid request. */
void *shared_heap_alloc(size_t nbytes);

/* NULL is fine. Its pages go back to the system, also where other processes have them mapped, or
 * are kept for the next, up to a bound. */
void shared_heap_free(void *memory);

/* Where memory lies for other processes. */
struct shared_place {
    uint64_t segment; /* its number, never used again in this process; from 1 */
    int fd;           /* borrowed: valid until the memory is freed; dup() it to keep it */
    size_t size;      /* of the whole segment */
    size_t offset;    /* in it */
};

/* True if all of [data, data + nbytes) lies in one segment. Fast: no system call, and no lock that
 * is ever held for long. The caller sees to it that the memory is not freed meanwhile. */
bool shared_heap_find(const void *data, size_t nbytes, struct shared_place *place);

#endif
