/* SPDX-License-Identifier: Apache-2.0 */
/* The list of overdue names; see stall_list.h. */
#include "lib/stall/stall_list.h"

#include <stdio.h>
#include <string.h>

struct stall_entry *stall_list_find(struct stall_list *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->at[i].name, name) == 0)
            return &list->at[i];
    return NULL;
}

void stall_list_remove(struct stall_list *list, struct stall_entry *overdue)
{
    *overdue = list->at[--list->count];
}

/* A free place, or the place of the youngest name if that is younger; NULL if all are as old. */
static struct stall_entry *make_place(struct stall_list *list, uint64_t since_ns)
{
    if (list->count < STALL_NAMES_MAX)
        return &list->at[list->count++];
    struct stall_entry *youngest = &list->at[0];
    for (int i = 1; i < list->count; i++)
        if (list->at[i].since_ns > youngest->since_ns)
            youngest = &list->at[i];
    return youngest->since_ns > since_ns ? youngest : NULL;
}

void stall_list_note(struct stall_list *list, const char *name, enum collective_kind kind,
                     uint64_t since_ns, uint64_t now_ns)
{
    struct stall_entry *overdue = stall_list_find(list, name);
    if (!overdue) {
        overdue = make_place(list, since_ns);
        if (!overdue)
            return;
        *overdue = (struct stall_entry){ .since_ns = since_ns, .first_ns = now_ns };
        snprintf(overdue->name, sizeof overdue->name, "%s", name);
    }
    overdue->kind = kind;
    overdue->heard_ns = now_ns;
    if (overdue->since_ns > since_ns)
        overdue->since_ns = since_ns;
}

void stall_list_expire(struct stall_list *list, uint64_t now_ns, uint64_t after_ns)
{
    for (int i = list->count - 1; i >= 0; i--)
        if (now_ns - list->at[i].heard_ns >= after_ns)
            stall_list_remove(list, &list->at[i]);
}

uint64_t stall_list_oldest(const struct stall_list *list)
{
    uint64_t oldest = UINT64_MAX;
    for (int i = 0; i < list->count; i++)
        if (list->at[i].since_ns < oldest)
            oldest = list->at[i].since_ns;
    return oldest;
}

uint64_t stall_list_first(const struct stall_list *list)
{
    uint64_t first = UINT64_MAX;
    for (int i = 0; i < list->count; i++)
        if (list->at[i].first_ns < first)
            first = list->at[i].first_ns;
    return first;
}

/* When to report this name to the parent. */
static uint64_t tell_at(const struct stall_entry *overdue, uint64_t interval_ns)
{
    if (overdue->told_ns == 0)
        return overdue->heard_ns;
    return overdue->heard_ns > overdue->told_ns ? overdue->told_ns + interval_ns : UINT64_MAX;
}

uint64_t stall_list_tell_at(const struct stall_list *list, uint64_t interval_ns)
{
    uint64_t first = UINT64_MAX;
    for (int i = 0; i < list->count; i++)
        if (tell_at(&list->at[i], interval_ns) < first)
            first = tell_at(&list->at[i], interval_ns);
    return first;
}

static void put_name(struct stall_names *names, const struct stall_entry *overdue, uint64_t now_ns)
{
    uint64_t age_ms = (now_ns - overdue->since_ns) / 1000000;
    struct stall_name *name = &names->at[names->count++];
    name->kind = overdue->kind;
    name->age_ms = age_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)age_ms;
    memcpy(name->text, overdue->name, sizeof name->text);
}

void stall_list_tell(struct stall_list *list, struct stall_names *names, uint64_t now_ns,
                     uint64_t interval_ns)
{
    names->count = 0;
    for (int i = 0; i < list->count; i++)
        if (tell_at(&list->at[i], interval_ns) <= now_ns) {
            put_name(names, &list->at[i], now_ns);
            list->at[i].told_ns = now_ns;
        }
}

void stall_list_names(const struct stall_list *list, struct stall_names *names, uint64_t now_ns,
                      uint64_t age_ns)
{
    struct stall_list sorted = { 0 };
    for (int i = 0; i < list->count; i++) {
        int at = sorted.count++;
        for (; at > 0 && sorted.at[at - 1].since_ns > list->at[i].since_ns; at--)
            sorted.at[at] = sorted.at[at - 1];
        sorted.at[at] = list->at[i];
    }
    names->count = 0;
    for (int i = 0; i < sorted.count; i++)
        if (now_ns - sorted.at[i].since_ns >= age_ns)
            put_name(names, &sorted.at[i], now_ns);
}
