/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors that this rank has submitted and waits for, for the rendezvous
 * (lib/base/rank_waits.h): all tensors in flight, except those whose input a device still makes. If
 * there are too many, the list has those that have waited longest. A tensor that is not agreed on,
 * if any, stands first. */
#include "lib/engine/engine_impl.h"

#include <stdio.h>
#include <string.h>

/* Keys of a set and of a tensor in it: the keys of consecutive serials are far apart. */
static uint64_t key_of_set(const struct process_set *set)
{
    return (set->serial + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t key_of(const struct tensor *tensor)
{
    uint64_t set_key = key_of_set(tensor->set);
    return tensor->description.kind == COLLECTIVE_JOIN ? set_key
                                                       : set_key ^ request_hash(tensor->name);
}

static bool comes_before(const struct tensor *a, const struct tensor *b)
{
    return a->decided != b->decided ? b->decided : a->since_ns < b->since_ns;
}

/* Inserts a tensor in its place among `count` others; the last one is dropped when there are too
 * many. */
static void insert(const struct tensor **oldest, int *count, const struct tensor *tensor)
{
    int at = *count < WAITS_MAX ? (*count)++ : WAITS_MAX - 1;
    if (oldest[at] && !comes_before(tensor, oldest[at]))
        return;
    for (; at > 0 && comes_before(tensor, oldest[at - 1]); at--)
        oldest[at] = oldest[at - 1];
    oldest[at] = tensor;
}

static void put_members(struct rank_waits *waits, const struct process_set *set)
{
    for (int i = 0; i < set->size; i++) {
        uint32_t rank = (uint32_t)set->ranks[i];
        int last = waits->nmembers - 1;
        if (last >= 0 && waits->members[last].end == rank) {
            waits->members[last].end++;
            continue;
        }
        if (waits->nmembers == WAITS_RANGES_MAX)
            return;
        waits->members[waits->nmembers].first = rank;
        waits->members[waits->nmembers++].end = rank + 1;
    }
}

static void put_first(struct rank_waits *waits, const struct tensor *first, uint64_t now_ns)
{
    uint64_t age_ms = now_ns > first->since_ns ? (now_ns - first->since_ns) / 1000000 : 0;
    waits->set_key = key_of_set(first->set);
    waits->age_ms = (uint32_t)earlier(age_ms, UINT32_MAX);
    waits->moves = first->decided;
    snprintf(waits->name, sizeof waits->name, "%s", name_shown(first->name));
    put_members(waits, first->set);
}

void engine_list_submitted(const struct engine *engine, struct rank_waits *waits)
{
    const struct tensor *oldest[WAITS_MAX] = { NULL };
    int count = 0, offered = 0;
    *waits = (struct rank_waits){ .count = 0 };
    for (const struct tensor *at = engine->in_flight.first; at; at = at->next) {
        if (ready_has(at->set, at->name))
            continue;
        insert(oldest, &count, at);
        offered++;
    }
    for (int i = 0; i < count; i++)
        waits->keys[i] = key_of(oldest[i]);
    waits->count = count;
    waits->more = offered > count;
    if (count > 0)
        put_first(waits, oldest[0], monotonic_ns());
}
