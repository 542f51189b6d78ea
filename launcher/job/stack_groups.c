/* SPDX-License-Identifier: Apache-2.0 */
/* Grouping ranks by where they stand; see stack_groups.h. */
#include "launcher/job/stack_groups.h"

#include "launcher/base/rank_names.h"
#include "launcher/base/xalloc.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stack_group {
    char *where; /* owned */
    bool *ranks; /* owned: which ranks stand there */
    int lowest;
    size_t number; /* in order of arrival */
};

void stack_groups_init(struct stack_groups *self, int nranks)
{
    *self = (struct stack_groups){ .nranks = nranks };
    self->heard = xcalloc((size_t)nranks + 1, sizeof *self->heard);
}

static struct stack_group *find_group(struct stack_groups *self, const char *where)
{
    static const char rest[] = "at places that are not told, because there are too many";
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->groups[i].where, where) == 0)
            return &self->groups[i];
    if (self->count >= STACK_GROUPS_MAX && strcmp(where, rest) != 0)
        return find_group(self, rest);
    self->groups = xreallocarray(self->groups, self->count + 1, sizeof *self->groups);
    struct stack_group *group = &self->groups[self->count];
    *group = (struct stack_group){ xstrdup(where),
                                   xcalloc((size_t)self->nranks + 1, sizeof *group->ranks),
                                   self->nranks, self->count };
    self->count++;
    return group;
}

void stack_groups_add(struct stack_groups *self, int rank, const char *where)
{
    if (rank < 0 || rank >= self->nranks)
        return;
    char *line = xstrdup(where);
    text_make_line(line);
    struct stack_group *group = find_group(self, line);
    free(line);
    group->ranks[rank] = true;
    self->heard[rank] = true;
    if (rank < group->lowest)
        group->lowest = rank;
}

static int compare_groups(const void *a, const void *b)
{
    const struct stack_group *x = a, *y = b;
    if (x->lowest != y->lowest)
        return x->lowest < y->lowest ? -1 : 1;
    return x->number < y->number ? -1 : 1;
}

static bool is_in_group(const void *context, int rank)
{
    const struct stack_group *group = context;
    return group->ranks[rank];
}

void stack_groups_tell(struct stack_groups *self, void (*say)(void *context, const char *line),
                       void *context)
{
    char ranks[300];
    if (self->count > 0)
        qsort(self->groups, self->count, sizeof *self->groups, compare_groups);
    for (size_t i = 0; i < self->count; i++) {
        rank_names_text(ranks, sizeof ranks, self->nranks, is_in_group, &self->groups[i]);
        char *line = xasprintf("%s: %s", ranks, self->groups[i].where);
        say(context, line);
        free(line);
    }
}

void stack_groups_fini(struct stack_groups *self)
{
    for (size_t i = 0; i < self->count; i++) {
        free(self->groups[i].where);
        free(self->groups[i].ranks);
    }
    free(self->groups);
    free(self->heard);
    *self = (struct stack_groups){ 0 };
}
