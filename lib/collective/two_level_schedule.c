/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of two levels; see two_level_schedule.h. */
#include "lib/collective/two_level_schedule.h"

#include <stdint.h>

struct cut two_level_begin(const struct placing *placing, int rank)
{
    return (struct cut){ placing->index[rank], placing_count(placing, placing->host[rank]) };
}

struct cut two_level_end(const struct placing *placing, int rank)
{
    struct cut begin = two_level_begin(placing, rank);
    return (struct cut){ begin.part + 1, begin.parts };
}

bool cut_is_before(struct cut a, struct cut b)
{
    return (int64_t)a.part * b.parts < (int64_t)b.part * a.parts;
}

/* The number of the share, out of `shares` equal ones, that the cut lies in, or in front of. */
static int share_at(struct cut cut, int shares)
{
    return (int)((int64_t)cut.part * shares / cut.parts);
}

struct cut two_level_next_cut(const struct placing *placing, struct cut cut)
{
    struct cut next = { 1, 1 };
    for (int host = 0; host < placing->nhosts; host++) {
        int shares = placing_count(placing, host);
        struct cut end = { share_at(cut, shares) + 1, shares };
        if (cut_is_before(end, next))
            next = end;
    }
    return next;
}

/* count * part / parts, rounded down. */
size_t two_level_position(struct cut cut, size_t count)
{
    size_t part = (size_t)cut.part, parts = (size_t)cut.parts;
    return count / parts * part + count % parts * part / parts;
}

int two_level_carrier(const struct placing *placing, int host, struct cut cut)
{
    return placing->members[placing->first[host] + share_at(cut, placing_count(placing, host))];
}

int two_level_segments(const struct placing *placing, int rank)
{
    int count = 0;
    struct cut end = two_level_end(placing, rank), cut = two_level_begin(placing, rank);
    for (; cut_is_before(cut, end); cut = two_level_next_cut(placing, cut))
        count++;
    return count;
}

static int local_peers(const struct placing *placing, int rank, int *peers)
{
    int count = 0, host = placing->host[rank];
    for (int i = placing->first[host]; i < placing->first[host + 1]; i++)
        if (placing->members[i] != rank)
            peers[count++] = placing->members[i];
    return count;
}

/* The ranks of another host that carry a part of this share are consecutive there. */
static int peers_on(const struct placing *placing, int rank, int host, int *peers)
{
    int count = 0, last = -1;
    struct cut end = two_level_end(placing, rank), cut = two_level_begin(placing, rank);
    for (; cut_is_before(cut, end); cut = two_level_next_cut(placing, cut)) {
        int carrier = two_level_carrier(placing, host, cut);
        if (carrier != last)
            peers[count++] = last = carrier;
    }
    return count;
}

int two_level_peers(const struct placing *placing, int rank, int *peers)
{
    int count = local_peers(placing, rank, peers);
    for (int host = 0; host < placing->nhosts; host++)
        if (host != placing->host[rank])
            count += peers_on(placing, rank, host, peers + count);
    return count;
}
