/* SPDX-License-Identifier: Apache-2.0 */
/* At the root: tensors that are ready, but are carried out only when all of their group are ready.
 * A member that has failed counts as ready. */
#ifndef LIB_NEGOTIATION_GROUPS_H
#define LIB_NEGOTIATION_GROUPS_H

#include "lib/negotiation/pending.h"

enum { GROUP_BUCKETS = 64 };

struct group {
    struct group *chain;
    uint64_t hash;
    uint32_t size, arrived;
    struct pending_queue members;
};

struct groups {
    struct group *buckets[GROUP_BUCKETS];
};

/* One more member of `description`'s group has arrived: `entry`, or a member that has failed
 * (NULL). With the last member all are moved to `complete`, in order of arrival. Takes at most one
 * block of sizeof(struct group) from the pool; HVD_ERR_NOMEM. */
int groups_arrive(struct groups *groups, struct pool *pool, const struct description *description,
                  struct pending *entry, struct pending_queue *complete);

/* Ends all groups, and moves the members that were waiting to `rest`. */
void groups_end(struct groups *groups, struct pool *pool, struct pending_queue *rest);

#endif
