/* SPDX-License-Identifier: Apache-2.0 */
/* The names in flight, for people: each name of the table, then the own join.
 *
 * A child reports a name when all ranks below it have submitted it or joined. Until then a child
 * that is a leaf is known to miss the name; of a larger subtree only some unknown rank is known to
 * miss it. Only the ranks themselves can say which one (stall_ask() in lib/stall/stall.h). */
#include "lib/negotiation/negotiation_impl.h"

/* The ranks of a range that have not joined. */
static void add_unjoined(const struct negotiation *negotiation, struct rank_ranges *ranges,
                         struct rank_range range)
{
    for (int rank = range.first; rank < range.end; rank++)
        if (!negotiation->joins.has_joined[rank])
            rank_ranges_add(ranges, rank, rank + 1);
}

static void fill_missing(const struct negotiation *negotiation, const struct pending *entry,
                         struct waiting *waiting)
{
    for (int i = 0; i < CONTRIBUTORS_MAX; i++) {
        struct rank_ranges unjoined = { 0 };
        if (!(negotiation->needed & ~entry->given & 1u << i))
            continue;
        add_unjoined(negotiation, &unjoined, negotiation_range(negotiation, i));
        bool is_one = rank_ranges_count(&unjoined) == 1;
        rank_ranges_add_all(is_one ? &waiting->missing : &waiting->unsure, &unjoined);
    }
}

static void fill_join(const struct negotiation *negotiation, struct waiting *waiting)
{
    const struct joins *joins = &negotiation->joins;
    *waiting = (struct waiting){
        .name = joins->name, .kind = COLLECTIVE_JOIN, .since_ns = joins->since_ns, .own = true
    };
    struct rank_range all = { negotiation->rank, negotiation->tree.end };
    add_unjoined(negotiation, &waiting->missing, all);
}

int negotiation_waiting(const struct negotiation *negotiation, int index, struct waiting *waiting)
{
    if (index < 0 || index >= negotiation_waiting_count(negotiation))
        return 0;
    if ((size_t)index == negotiation->pending.count) {
        fill_join(negotiation, waiting);
        return 1;
    }
    const struct pending *entry = negotiation->pending.all[index];
    *waiting = (struct waiting){ .name = entry->name,
                                 .kind = entry->kind,
                                 .since_ns = entry->since_ns,
                                 .own = entry->given & 1 };
    if (entry->state == PENDING_WAITING)
        fill_missing(negotiation, entry, waiting);
    return 1;
}

int negotiation_waiting_count(const struct negotiation *negotiation)
{
    return (int)negotiation->pending.count + (negotiation->joins.own ? 1 : 0);
}
