/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that wait for the rest of their group; see groups.h. */
#include "lib/negotiation/groups.h"

static struct group **groups_find(struct groups *groups, const struct description *description)
{
    struct group **link = &groups->buckets[description->group % GROUP_BUCKETS];
    while (*link &&
           ((*link)->hash != description->group || (*link)->size != description->group_size))
        link = &(*link)->chain;
    return link;
}

static void groups_end_one(struct group **link, struct pool *pool, struct pending_queue *out)
{
    struct group *group = *link;
    *link = group->chain;
    for (struct pending *entry; (entry = pending_pop(&group->members));)
        pending_push(out, entry);
    pool_put(pool, group, sizeof *group);
}

int groups_arrive(struct groups *groups, struct pool *pool, const struct description *description,
                  struct pending *entry, struct pending_queue *complete)
{
    struct group **link = groups_find(groups, description);
    if (!*link) {
        struct group *group = pool_get(pool, sizeof *group);
        if (!group)
            return HVD_ERR_NOMEM;
        *group = (struct group){ .hash = description->group, .size = description->group_size };
        *link = group;
    }
    if (entry)
        pending_push(&(*link)->members, entry);
    if (++(*link)->arrived >= (*link)->size)
        groups_end_one(link, pool, complete);
    return HVD_OK;
}

void groups_end(struct groups *groups, struct pool *pool, struct pending_queue *rest)
{
    for (int i = 0; i < GROUP_BUCKETS; i++)
        while (groups->buckets[i])
            groups_end_one(&groups->buckets[i], pool, rest);
}
