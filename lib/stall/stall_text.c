/* SPDX-License-Identifier: Apache-2.0 */
/* Texts about a stall; see stall_text.h. */
#include "lib/stall/stall_text.h"

#include "lib/base/env_names.h"
#include "lib/negotiation/list_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NAMES_SHOWN = 3, /* of those that wait for the same ranks */
    RANKS_SHOWN = 6,
    RANGES_SIZE = 256
};

static void add_name(struct list_text *list, const char *before, const char *name)
{
    char clean[HVD_NAME_MAX + 1];
    snprintf(clean, sizeof clean, "%s", name_shown(name));
    stall_clean(clean);
    list_text_add(list, "%s'%s'", before, clean);
}

static bool same_ranks(const struct rank_ranges *a, const struct rank_ranges *b)
{
    if (a->count != b->count || a->closed != b->closed)
        return false;
    for (int i = 0; i < a->count; i++)
        if (a->range[i].first != b->range[i].first || a->range[i].end != b->range[i].end)
            return false;
    return true;
}

/* The names in `shown` that share a line with name `index`. */
static unsigned alike(const struct stall_names *names, const struct stall_answer *answer,
                      unsigned shown, int index)
{
    unsigned group = 0;
    for (int i = index; i < names->count; i++)
        if ((shown >> i & 1) && names->at[i].kind == names->at[index].kind &&
            same_ranks(&answer->name[i].missing, &answer->name[index].missing))
            group |= 1u << i;
    return group;
}

/* " has waited 61 s for ranks 1, 3-4" */
static void add_wait(struct list_text *list, const char *verb, uint32_t age_ms,
                     const struct rank_ranges *missing, const int *world_ranks)
{
    char ranks[RANGES_SIZE];
    list_text_add(list, " %s waited %" PRIu32 " s", verb, age_ms / 1000);
    if (missing->count > 0)
        list_text_add(list, " for %s", rank_ranges_text(ranks, sizeof ranks, missing, world_ranks));
}

static void add_group(struct list_text *list, const struct stall_names *names,
                      const struct stall_answer *answer, unsigned group, const int *world_ranks)
{
    int first = __builtin_ctz(group), count = __builtin_popcount(group), told = 0;
    uint32_t age_ms = 0;
    list_text_add(list, "%s%s", list->length > 0 ? "\n  " : "",
                  collective_name(names->at[first].kind));
    for (int i = first; i < names->count; i++) {
        if (!(group >> i & 1))
            continue;
        if (age_ms < answer->name[i].age_ms)
            age_ms = answer->name[i].age_ms;
        if (told++ < NAMES_SHOWN)
            add_name(list, told > 1 ? ", " : " ", names->at[i].text);
    }
    if (count > NAMES_SHOWN)
        list_text_add(list, " and %d more", count - NAMES_SHOWN);
    add_wait(list, count > 1 ? "have" : "has", age_ms, &answer->name[first].missing, world_ranks);
}

static int in_world(int rank, const int *world_ranks)
{
    return world_ranks ? world_ranks[rank] : rank;
}

static bool has_others(const struct stall_answer *answer, unsigned shown, int told)
{
    struct rank_ranges missing = { 0 };
    for (int i = 0; i < answer->nnames; i++)
        if (shown >> i & 1)
            rank_ranges_add_all(&missing, &answer->name[i].missing);
    return missing.closed || rank_ranges_count(&missing) > told;
}

static void add_ranks(struct list_text *list, const struct stall_answer *answer, unsigned shown,
                      const int *world_ranks)
{
    int told = 0;
    for (int i = 0; i < answer->nranks && told < RANKS_SHOWN; i++)
        if (answer->ranks[i].missing & shown) {
            list_text_add(list, "\n  rank %d %s", in_world(answer->ranks[i].rank, world_ranks),
                          answer->ranks[i].text);
            told++;
        }
    if (told > 0 && has_others(answer, shown, told))
        list_text_add(list, "\n  and others");
}

void stall_warning_text(char *text, size_t size, const struct stall_names *names,
                        const struct stall_answer *answer, unsigned shown, const int *world_ranks)
{
    char ranks[RANGES_SIZE];
    struct list_text list;
    list_text_init(&list, text, size);
    for (unsigned left = shown; left != 0;) {
        unsigned group = alike(names, answer, left, __builtin_ctz(left));
        add_group(&list, names, answer, group, world_ranks);
        left &= ~group;
    }
    add_ranks(&list, answer, shown, world_ranks);
    if (answer->silent.count > 0)
        list_text_add(&list, "\n  no answer from %s",
                      rank_ranges_text(ranks, sizeof ranks, &answer->silent, world_ranks));
}

/* The idle ranks, or the others, if they miss name `index`. */
static void add_missing_ranks(struct list_text *list, const struct stall_answer *answer, int index,
                              bool idle, const int *world_ranks)
{
    for (int i = 0; i < answer->nranks; i++) {
        const struct stall_rank *rank = &answer->ranks[i];
        if ((rank->missing >> index & 1) && late_ranks_contain(&answer->idle, rank->rank) == idle)
            list_text_add(list, "; rank %d %s", in_world(rank->rank, world_ranks), rank->text);
    }
}

void stall_abort_text(char *text, size_t size, const struct stall_names *names,
                      const struct stall_answer *answer, int index, uint64_t shutdown_s,
                      const int *world_ranks)
{
    char ranks[RANGES_SIZE];
    struct list_text list;
    list_text_init(&list, text, size);
    list_text_add(&list, "%s", collective_name(names->at[index].kind));
    add_name(&list, " ", names->at[index].text);
    add_wait(&list, "has", answer->name[index].age_ms, &answer->name[index].missing, world_ranks);
    list_text_add(&list, " (%s is %" PRIu64 ")", ENV_STALL_SHUTDOWN_TIME, shutdown_s);
    if (answer->silent.count > 0)
        list_text_add(&list, "; no answer from %s",
                      rank_ranges_text(ranks, sizeof ranks, &answer->silent, world_ranks));
    add_missing_ranks(&list, answer, index, true, world_ranks);
    add_missing_ranks(&list, answer, index, false, world_ranks);
}

void stall_deadlock_text(char *text, size_t size, const struct stall_names *names,
                         const struct stall_answer *answer, const int *world_ranks)
{
    char ranks[RANGES_SIZE];
    struct list_text list;
    list_text_init(&list, text, size);
    list_text_add(&list, "deadlock: every rank waits");
    for (int i = 0; i < names->count; i++) {
        list_text_add(&list, "%s %s", i == 0 ? ":" : ",", collective_name(names->at[i].kind));
        add_name(&list, " ", names->at[i].text);
        if (answer->name[i].missing.count > 0)
            list_text_add(
                &list, " for %s",
                rank_ranges_text(ranks, sizeof ranks, &answer->name[i].missing, world_ranks));
    }
}
