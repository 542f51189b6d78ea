/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a range; see extents.h. */
#include "lib/memory/extents.h"

#include <string.h>

void extents_init(struct extents *extents, uint32_t size)
{
    extents->count = 1;
    extents->taken = 0;
    extents->used = 0;
    extents->list[0] = (struct extent){ 0, size, EXTENT_FRESH };
}

/* The part that `offset` lies in. */
static int extents_find(const struct extents *extents, uint32_t offset)
{
    int low = 0, high = extents->count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (extents->list[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The offset at which parts that are not taken leave so much room, fresh or used. */
static bool find_room(const struct extents *extents, uint32_t size, uint32_t alignment,
                      uint32_t *offset)
{
    uint64_t begin = 0;
    for (int i = 0; i < extents->count; i++) {
        const struct extent *extent = &extents->list[i];
        uint64_t end = (uint64_t)extent->offset + extent->size;
        if (extent->state == EXTENT_TAKEN)
            begin = (end + alignment - 1) / alignment * alignment;
        else if (begin + size <= end) {
            *offset = (uint32_t)begin;
            return true;
        }
    }
    return false;
}

/* The part that begins at `offset`, after cutting a part in two if need be. */
static int extents_cut(struct extents *extents, uint32_t offset)
{
    int index = extents_find(extents, offset);
    struct extent *extent = &extents->list[index];
    uint32_t before = offset - extent->offset;
    if (before == 0)
        return index;
    if (before == extent->size)
        return index + 1;
    memmove(extent + 1, extent, (size_t)(extents->count++ - index) * sizeof *extent);
    extent[0].size = before;
    extent[1].offset += before;
    extent[1].size -= before;
    return index + 1;
}

static void unite(struct extents *extents, int index)
{
    struct extent *extent = &extents->list[index];
    if (index < 0 || index + 1 >= extents->count || extent[0].state != extent[1].state ||
        extent->state == EXTENT_TAKEN)
        return;
    extent[0].size += extent[1].size;
    memmove(extent + 1, extent + 2, (size_t)(--extents->count - index - 1) * sizeof *extent);
}

bool extents_take(struct extents *extents, uint32_t size, uint32_t alignment, uint32_t *offset)
{
    if (extents->count + 2 > EXTENTS_MAX || !find_room(extents, size, alignment, offset))
        return false;
    int first = extents_cut(extents, *offset), end = extents_cut(extents, *offset + size);
    for (int i = first; i < end; i++)
        if (extents->list[i].state == EXTENT_USED)
            extents->used -= extents->list[i].size;
    extents->list[first] = (struct extent){ *offset, size, EXTENT_TAKEN };
    memmove(&extents->list[first + 1], &extents->list[end],
            (size_t)(extents->count - end) * sizeof *extents->list);
    extents->count -= end - first - 1;
    extents->taken++;
    return true;
}

static void become(struct extents *extents, int index, int state)
{
    extents->list[index].state = state;
    unite(extents, index);
    unite(extents, index - 1);
}

uint32_t extents_give(struct extents *extents, uint32_t offset)
{
    int index = extents_find(extents, offset);
    const struct extent *extent = &extents->list[index];
    uint32_t size = extent->size;
    if (extent->offset != offset || extent->state != EXTENT_TAKEN)
        return 0;
    extents->taken--;
    extents->used += size;
    become(extents, index, EXTENT_USED);
    return size;
}

/* The offset where the last `least` units of a part begin, or more of them. */
static uint32_t tail(const struct extent *extent, uint32_t least, uint32_t alignment)
{
    if (extent->size <= least)
        return extent->offset;
    uint32_t begin = (extent->offset + extent->size - least) / alignment * alignment;
    return begin < extent->offset ? extent->offset : begin;
}

/* Extends to the multiples of `alignment` around, within the part. */
static void widen(const struct extents *extents, uint32_t alignment, struct extent *extent)
{
    const struct extent *whole = &extents->list[extents_find(extents, extent->offset)];
    uint64_t begin = extent->offset / alignment * alignment, end = extent->offset + extent->size;
    uint64_t whole_end = (uint64_t)whole->offset + whole->size;
    end = (end + alignment - 1) / alignment * alignment;
    begin = begin < whole->offset ? whole->offset : begin;
    end = end > whole_end ? whole_end : end;
    *extent = (struct extent){ (uint32_t)begin, (uint32_t)(end - begin), whole->state };
}

bool extents_refresh(struct extents *extents, int index, uint32_t least, uint32_t alignment,
                     struct extent *refreshed)
{
    const struct extent *extent = &extents->list[index];
    if (extent->state != EXTENT_USED)
        return false;
    if (extents->count < EXTENTS_MAX)
        index = extents_cut(extents, tail(extent, least, alignment));
    *refreshed = extents->list[index];
    extents->used -= refreshed->size;
    become(extents, index, EXTENT_FRESH);
    widen(extents, alignment, refreshed);
    return true;
}

bool extents_is_free(const struct extents *extents)
{
    return extents->taken == 0;
}
