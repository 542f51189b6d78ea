/* SPDX-License-Identifier: Apache-2.0 */
/* At the root: a name that all ranks have submitted:
 *   do they agree? -> is its group complete? -> DONE if the data has come with it, otherwise RUN.
 * Names that have failed, or are done, are decided at once; other names may wait to be fused. */
#include "lib/negotiation/contribution.h"
#include "lib/negotiation/negotiation_impl.h"

bool negotiation_ready_reserve(struct negotiation *negotiation)
{
    return pool_reserve(&negotiation->pool, sizeof(struct group), VARIANTS_MAX);
}

static enum pending_failure failure_of(const struct negotiation *negotiation,
                                       const struct pending *entry)
{
    if (entry->variants && variants_check(entry->variants, entry->name, NULL, NULL) != HVD_OK)
        return PENDING_MISMATCH;
    if (negotiation_has_absent(negotiation, entry) &&
        !description_can_join(negotiation_description(negotiation, entry)))
        return PENDING_JOINED;
    return PENDING_GOOD;
}

/* True if no data is left to move. */
static bool is_done(const struct negotiation *negotiation, const struct pending *entry)
{
    const struct description *description = negotiation_description(negotiation, entry);
    return entry->complete &&
           (description_is_reduction(description) || description->kind == COLLECTIVE_ADD_SET ||
            contribution_total(entry) <= negotiation->list_max);
}

static void dispatch(struct negotiation *negotiation, struct pending *entry)
{
    struct negotiation_root *root = negotiation->root;
    entry->complete = is_done(negotiation, entry);
    pending_push(entry->failure != PENDING_GOOD || entry->complete ? &root->small : &root->batch,
                 entry);
}

static void dispatch_all(struct negotiation *negotiation, struct pending_queue *queue)
{
    for (struct pending *entry; (entry = pending_pop(queue));)
        dispatch(negotiation, entry);
}

/* A failure counts in the group of each rank that submitted the name as a member. */
static int count_failure(struct negotiation *negotiation, const struct pending *entry,
                         struct pending_queue *complete)
{
    int count = entry->variants ? entry->variants->count : 1, rc = HVD_OK;
    for (int i = 0; i < count && rc == HVD_OK; i++) {
        const struct description *description = entry->variants
                                                    ? &entry->variants->variant[i].description
                                                    : negotiation_description(negotiation, entry);
        bool seen = description->group == 0;
        for (int j = 0; j < i; j++)
            seen |= entry->variants->variant[j].description.group == description->group &&
                    entry->variants->variant[j].description.group_size == description->group_size;
        if (!seen)
            rc = groups_arrive(&negotiation->root->groups, &negotiation->pool, description, NULL,
                               complete);
    }
    return rc;
}

int negotiation_ready(struct negotiation *negotiation, struct pending *entry, struct err *err)
{
    struct pending_queue complete = { 0 };
    const struct description *description = negotiation_description(negotiation, entry);
    int rc = HVD_OK;
    entry->failure = failure_of(negotiation, entry);
    if (entry->failure != PENDING_GOOD)
        rc = count_failure(negotiation, entry, &complete);
    else if (description->group != 0)
        rc = groups_arrive(&negotiation->root->groups, &negotiation->pool, description, entry,
                           &complete);
    if (rc != HVD_OK)
        return fail(err, rc, "out of memory");
    if (entry->failure != PENDING_GOOD || description->group == 0)
        dispatch(negotiation, entry);
    dispatch_all(negotiation, &complete);
    return HVD_OK;
}

void negotiation_all_joined(struct negotiation *negotiation)
{
    struct pending_queue rest = { 0 };
    groups_end(&negotiation->root->groups, &negotiation->pool, &rest);
    for (struct pending *entry = rest.first; entry; entry = entry->next)
        entry->failure = PENDING_GROUP;
    dispatch_all(negotiation, &rest);
    negotiation->root->all_joined = true;
}
