/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that other ranks of this host may read in place: the results of hvd_alloc(), and the
 * engine's fusion buffers. One heap per process, made of segments; usable from any thread, before
 * hvd_init() and after hvd_shutdown(). A forked child has its own (empty) heap. Its parent's memory
 * stays mapped in the child until the parent frees it; both see each other's changes, and only the
 * parent may free it.
 *
 * A segment holds many allocations and is large, but only touched pages take memory. There are few
 * segments, so a process that reads them maps few, each for long.
 *
 * When no segment can be made, memory is private: everything works, but data are copied. */
#ifndef LIB_MEMORY_SHARED_HEAP_H
#define LIB_MEMORY_SHARED_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Aligned to 64 bytes at least, and to a page if the size is a page or more; NULL when out of
 * memory. 0 bytes are a valid request. */
void *shared_heap_alloc(size_t nbytes);

/* NULL is fine. The pages go back to the system, also where other processes have them mapped, or
 * are kept for reuse, up to a bound. */
void shared_heap_free(void *memory);

/* The place of memory, for other processes. */
struct shared_place {
    uint64_t segment; /* its number, never used again in this process; from 1 */
    int fd;           /* borrowed: valid until the memory is freed; dup() it to keep it */
    size_t size;      /* of the whole segment */
    size_t offset;    /* in it */
};

/* True if all of [data, data + nbytes) lies in one segment. Fast: no system call, and no lock that
 * is ever held for long. The caller must prevent that the memory is freed meanwhile. */
bool shared_heap_find(const void *data, size_t nbytes, struct shared_place *place);

#endif
