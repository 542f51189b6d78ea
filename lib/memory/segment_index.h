/* SPDX-License-Identifier: Apache-2.0 */
/* The segment that an address lies in: a sorted table that any thread reads without a lock while
 * another thread changes it. Changes are rare and short; a reader that meets a change reads
 * again. */
#ifndef LIB_MEMORY_SEGMENT_INDEX_H
#define LIB_MEMORY_SEGMENT_INDEX_H

#include "lib/memory/shared_heap.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SEGMENTS_MAX = 16384 };

/* Zeroed means empty. */
struct segment_index {
    atomic_uint changes; /* odd while one is being made */
    atomic_int count;
    struct segment_row {
        atomic_uintptr_t memory; /* ascending */
        atomic_size_t size;
        atomic_uint_fast64_t number;
        atomic_int fd;
    } rows[SEGMENTS_MAX];
};

/* Only one thread at a time. False: there is no room for another segment. */
bool segment_index_add(struct segment_index *index, const void *memory, size_t size,
                       uint64_t number, int fd);
void segment_index_remove(struct segment_index *index, const void *memory);

/* Like shared_heap_find(). */
bool segment_index_find(struct segment_index *index, const void *data, size_t nbytes,
                        struct shared_place *place);

#endif
