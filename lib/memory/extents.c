/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a range; see extents.h. */
#include "lib/memory/extents.h"

#include <string.h>

void extents_init(struct extents *extents, uint32_t size)
{
    extents->count = 1;
    extents->list[0] = (struct extent){ 0, size, false };
}

/* How many units have to stay free before a multiple of `alignment`. */
static uint32_t lead(const struct extent *extent, uint32_t alignment)
{
    return (alignment - extent->offset % alignment) % alignment;
}

static bool fits(const struct extent *extent, uint32_t size, uint32_t alignment)
{
    return !extent->is_taken && lead(extent, alignment) <= extent->size &&
           size <= extent->size - lead(extent, alignment);
}

/* Cuts part `index` in two, the first of them with `size` units. */
static void split(struct extents *extents, int index, uint32_t size)
{
    struct extent *extent = &extents->list[index];
    if (size == 0 || size == extent->size)
        return;
    memmove(extent + 1, extent, (size_t)(extents->count++ - index) * sizeof *extent);
    extent[0].size = size;
    extent[1].offset += size;
    extent[1].size -= size;
}

static void unite(struct extents *extents, int index)
{
    struct extent *extent = &extents->list[index];
    if (index < 0 || index + 1 >= extents->count || extent[0].is_taken || extent[1].is_taken)
        return;
    extent[0].size += extent[1].size;
    memmove(extent + 1, extent + 2, (size_t)(--extents->count - index - 1) * sizeof *extent);
}

bool extents_take(struct extents *extents, uint32_t size, uint32_t alignment, uint32_t *offset)
{
    int index = 0;
    while (index < extents->count && !fits(&extents->list[index], size, alignment))
        index++;
    if (index == extents->count || extents->count + 2 > EXTENTS_MAX)
        return false;
    uint32_t before = lead(&extents->list[index], alignment);
    split(extents, index, before);
    index += before > 0;
    split(extents, index, size);
    extents->list[index].is_taken = true;
    *offset = extents->list[index].offset;
    return true;
}

/* The part that begins at `offset`, or -1. */
static int find(const struct extents *extents, uint32_t offset)
{
    int low = 0, high = extents->count;
    while (high - low > 1) {
        int middle = low + (high - low) / 2;
        if (extents->list[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return extents->list[low].offset == offset ? low : -1;
}

uint32_t extents_give(struct extents *extents, uint32_t offset)
{
    int index = find(extents, offset);
    if (index < 0 || !extents->list[index].is_taken)
        return 0;
    uint32_t size = extents->list[index].size;
    extents->list[index].is_taken = false;
    unite(extents, index);
    unite(extents, index - 1);
    return size;
}

bool extents_is_free(const struct extents *extents)
{
    return extents->count == 1 && !extents->list[0].is_taken;
}
