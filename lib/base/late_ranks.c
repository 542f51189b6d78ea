/* SPDX-License-Identifier: Apache-2.0 */
/* A short list of ranks in order; see late_ranks.h. */
#include "lib/base/late_ranks.h"

#include <string.h>

/* The index of the first rank that is not below `rank`. */
static int late_ranks_find(const struct late_ranks *ranks, int rank)
{
    int at = 0;
    while (at < ranks->count && ranks->rank[at] < rank)
        at++;
    return at;
}

bool late_ranks_contain(const struct late_ranks *ranks, int rank)
{
    int at = late_ranks_find(ranks, rank);
    return at < ranks->count && ranks->rank[at] == rank;
}

void late_ranks_add(struct late_ranks *ranks, int rank)
{
    int at = late_ranks_find(ranks, rank);
    if (at == LATE_RANKS_MAX || (at < ranks->count && ranks->rank[at] == rank))
        return;
    ranks->count += ranks->count < LATE_RANKS_MAX;
    memmove(&ranks->rank[at + 1], &ranks->rank[at],
            (size_t)(ranks->count - at - 1) * sizeof *ranks->rank);
    ranks->rank[at] = rank;
}

void late_ranks_add_all(struct late_ranks *ranks, const struct late_ranks *other)
{
    for (int i = 0; i < other->count; i++)
        late_ranks_add(ranks, other->rank[i]);
}

void late_ranks_encode(struct wire_writer *writer, const struct late_ranks *ranks)
{
    wire_put_u8(writer, (uint8_t)ranks->count);
    for (int i = 0; i < ranks->count; i++)
        wire_put_i32(writer, ranks->rank[i]);
}

void late_ranks_decode(struct late_ranks *ranks, int first, int end, struct wire_reader *reader)
{
    *ranks = (struct late_ranks){ 0 };
    int count = wire_get_u8(reader);
    reader->failed |= count > LATE_RANKS_MAX;
    for (int i = 0; i < count && !reader->failed; i++) {
        int rank = wire_get_i32(reader);
        reader->failed |= rank < first || rank >= end;
        ranks->rank[i] = rank;
        ranks->count++;
        first = rank + 1;
    }
}
