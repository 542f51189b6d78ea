/* SPDX-License-Identifier: Apache-2.0 */
/* A table that is read while it changes; see segment_index.h. A writer makes `changes` odd first
 * and even at last. A reader trusts what it has read if `changes` was even and is still the same.
 * Members are stored with release and loaded with acquire: a reader that has loaded a new member
 * finds that `changes` has changed. */
#include "lib/memory/segment_index.h"

#include <sched.h>

#define LOAD(member) atomic_load_explicit(&(member), memory_order_acquire)
#define STORE(member, value) atomic_store_explicit(&(member), value, memory_order_release)

static void begin_change(struct segment_index *index)
{
    atomic_fetch_add_explicit(&index->changes, 1, memory_order_acq_rel);
}

static void end_change(struct segment_index *index)
{
    atomic_fetch_add_explicit(&index->changes, 1, memory_order_release);
}

static void copy_row(struct segment_row *to, struct segment_row *from)
{
    STORE(to->memory, LOAD(from->memory));
    STORE(to->size, LOAD(from->size));
    STORE(to->number, LOAD(from->number));
    STORE(to->fd, LOAD(from->fd));
}

/* How many rows begin at or below `address`. */
static int rows_up_to(struct segment_index *index, uintptr_t address)
{
    int low = 0, high = LOAD(index->count);
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (LOAD(index->rows[middle].memory) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool segment_index_add(struct segment_index *index, const void *memory, size_t size,
                       uint64_t number, int fd)
{
    int count = LOAD(index->count), at = rows_up_to(index, (uintptr_t)memory);
    if (count == SEGMENTS_MAX)
        return false;
    begin_change(index);
    for (int i = count; i > at; i--)
        copy_row(&index->rows[i], &index->rows[i - 1]);
    STORE(index->rows[at].memory, (uintptr_t)memory);
    STORE(index->rows[at].size, size);
    STORE(index->rows[at].number, number);
    STORE(index->rows[at].fd, fd);
    STORE(index->count, count + 1);
    end_change(index);
    return true;
}

void segment_index_remove(struct segment_index *index, const void *memory)
{
    int count = LOAD(index->count), at = rows_up_to(index, (uintptr_t)memory) - 1;
    if (at < 0 || LOAD(index->rows[at].memory) != (uintptr_t)memory)
        return;
    begin_change(index);
    for (int i = at; i < count - 1; i++)
        copy_row(&index->rows[i], &index->rows[i + 1]);
    STORE(index->count, count - 1);
    end_change(index);
}

/* One try, which may have read in the middle of a change. */
static bool segment_index_look(struct segment_index *index, uintptr_t address, size_t nbytes,
                               struct shared_place *place)
{
    int at = rows_up_to(index, address) - 1;
    if (at < 0)
        return false;
    struct segment_row *row = &index->rows[at];
    *place = (struct shared_place){ LOAD(row->number), LOAD(row->fd), LOAD(row->size),
                                    address - LOAD(row->memory) };
    return place->offset <= place->size && nbytes <= place->size - place->offset;
}

bool segment_index_find(struct segment_index *index, const void *data, size_t nbytes,
                        struct shared_place *place)
{
    for (;; sched_yield()) {
        unsigned int changes = LOAD(index->changes);
        bool found = segment_index_look(index, (uintptr_t)data, nbytes, place);
        if (changes % 2 == 0 &&
            atomic_load_explicit(&index->changes, memory_order_relaxed) == changes)
            return found;
    }
}
