/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ranks that are mostly contiguous; see variants.h. */
#include "lib/negotiation/variants.h"

#include "lib/negotiation/list_text.h"

#include <string.h>

/* The new range replaces the ranges that it touches. */
void rank_ranges_add(struct rank_ranges *ranges, int first, int end)
{
    if (first >= end)
        return;
    int before = 0, touched = 0;
    while (before < ranges->count && ranges->range[before].end < first)
        before++;
    const struct rank_range *at = ranges->range + before;
    while (before + touched < ranges->count && at[touched].first <= end)
        touched++;
    struct rank_range merged = { first, end };
    if (touched > 0 && at[0].first < first)
        merged.first = at[0].first;
    if (touched > 0 && at[touched - 1].end > end)
        merged.end = at[touched - 1].end;

    struct rank_range list[VARIANT_RANGES_MAX + 1] = { { 0, 0 } };
    int after = ranges->count - before - touched;
    memcpy(list, ranges->range, (size_t)before * sizeof *list);
    list[before] = merged;
    memcpy(list + before + 1, at + touched, (size_t)after * sizeof *list);
    ranges->count = before + 1 + after;
    if (ranges->count > VARIANT_RANGES_MAX) {
        ranges->count = VARIANT_RANGES_MAX;
        list[VARIANT_RANGES_MAX - 1].end = list[VARIANT_RANGES_MAX].end;
        ranges->closed = true;
    }
    memcpy(ranges->range, list, sizeof ranges->range);
}

void rank_ranges_add_all(struct rank_ranges *ranges, const struct rank_ranges *other)
{
    for (int i = 0; i < other->count; i++)
        rank_ranges_add(ranges, other->range[i].first, other->range[i].end);
    ranges->closed |= other->closed;
}

int rank_ranges_count(const struct rank_ranges *ranges)
{
    int count = 0;
    for (int i = 0; i < ranges->count; i++)
        count += ranges->range[i].end - ranges->range[i].first;
    return count;
}

static int in_world(int rank, const int *world_ranks)
{
    return world_ranks ? world_ranks[rank] : rank;
}

static const char *separator(const struct list_text *list, const struct rank_ranges *ranges)
{
    if (list->length > 0)
        return ", ";
    return rank_ranges_count(ranges) > 1 ? "ranks " : "rank ";
}

/* Consecutive ranks of a set need not be consecutive in the world. */
static void add_runs(struct list_text *list, const struct rank_ranges *ranges,
                     const struct rank_range *range, const int *world_ranks)
{
    int first = in_world(range->first, world_ranks);
    for (int rank = range->first; rank < range->end; rank++) {
        int last = in_world(rank, world_ranks);
        int next = rank + 1 < range->end ? in_world(rank + 1, world_ranks) : -1;
        if (next == last + 1)
            continue;
        if (first == last)
            list_text_add(list, "%s%d", separator(list, ranges), first);
        else
            list_text_add(list, "%s%d-%d", separator(list, ranges), first, last);
        first = next;
    }
}

char *rank_ranges_text(char *text, size_t size, const struct rank_ranges *ranges,
                       const int *world_ranks)
{
    struct list_text list;
    list_text_init(&list, text, size);
    int whole = ranges->count - (ranges->closed ? 1 : 0);
    for (int i = 0; i < whole; i++)
        add_runs(&list, ranges, &ranges->range[i], world_ranks);
    if (whole < ranges->count)
        list_text_add(&list, "%ssome of %d-%d", separator(&list, ranges),
                      in_world(ranges->range[whole].first, world_ranks),
                      in_world(ranges->range[whole].end - 1, world_ranks));
    return text;
}
