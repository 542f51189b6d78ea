/* SPDX-License-Identifier: Apache-2.0 */
/* Naming ranks; see rank_names.h. */
#include "launcher/base/rank_names.h"

#include <stdio.h>

/* The longest output: RANK_NAMES_SHOWN times ", 131070, 131071" and the number of others. */
struct ranges {
    char text[RANK_NAMES_SIZE];
    size_t used;
    int shown, named; /* ranges, and ranks in them */
    int found;        /* ranks, named or not */
};

static void rank_names_add(struct ranges *ranges, int first, int end)
{
    ranges->found += end - first;
    if (ranges->shown == RANK_NAMES_SHOWN)
        return;
    char *at = ranges->text + ranges->used;
    size_t left = sizeof ranges->text - ranges->used;
    const char *between = ranges->shown > 0 ? ", " : "";
    int n = end - first == 1 ? snprintf(at, left, "%s%d", between, first)
                             : snprintf(at, left, "%s%d%s%d", between, first,
                                        end - first == 2 ? ", " : "-", end - 1);
    ranges->used += (size_t)n;
    ranges->named += end - first;
    ranges->shown++;
}

int rank_names_numbers(char *text, size_t size, int nranks,
                       bool (*is_one)(const void *context, int rank), const void *context)
{
    struct ranges ranges = { .text = "" };
    for (int rank = 0; rank < nranks; rank++) {
        int first = rank;
        while (rank < nranks && is_one(context, rank))
            rank++;
        if (rank > first)
            rank_names_add(&ranges, first, rank);
    }
    int others = ranges.found - ranges.named;
    if (others > 0)
        snprintf(ranges.text + ranges.used, sizeof ranges.text - ranges.used, " and %d other%s",
                 others, others == 1 ? "" : "s");
    snprintf(text, size, "%s", ranges.text);
    return ranges.found;
}

int rank_names_text(char *text, size_t size, int nranks,
                    bool (*is_one)(const void *context, int rank), const void *context)
{
    char numbers[RANK_NAMES_SIZE];
    int found = rank_names_numbers(numbers, sizeof numbers, nranks, is_one, context);
    snprintf(text, size, "%s%s", found == 0 ? "" : found == 1 ? "rank " : "ranks ", numbers);
    return found;
}
