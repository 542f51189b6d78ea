/* SPDX-License-Identifier: Apache-2.0 */
/* Which allreduces are carried out as one; see fusion_plan.h. What devices reduce themselves has its
 * own calls, and nothing to gain. */
#include "lib/negotiation/fusion_plan.h"

static bool can_fuse(const struct description *description)
{
    return description->kind == COLLECTIVE_ALLREDUCE && description->op != HVD_ADASUM &&
           description->memory != MEMORY_DEVICE_REDUCES &&
           description_bytes(description) <= FUSION_TENSOR_MAX;
}

static bool same_group(const struct description *a, const struct description *b)
{
    return a->group == b->group && a->group_size == b->group_size;
}

static bool go_together(const struct description *a, const struct description *b)
{
    return a->dtype == b->dtype && a->op == b->op && a->memory == b->memory &&
           a->prescale == b->prescale && a->postscale == b->postscale;
}

void fusion_plan_init(struct fusion_plan *plan, const struct description *first, size_t threshold,
                      bool group_fusion)
{
    *plan = (struct fusion_plan){ .first = first,
                                  .nbytes = description_bytes(first),
                                  .threshold = can_fuse(first) ? threshold : 0,
                                  .group_fusion = group_fusion };
}

bool fusion_plan_is_open(const struct fusion_plan *plan)
{
    return plan->nbytes < plan->threshold;
}

bool fusion_plan_add(struct fusion_plan *plan, const struct description *description)
{
    size_t nbytes = description_bytes(description);
    if (!can_fuse(description) || plan->nbytes > plan->threshold ||
        nbytes > plan->threshold - plan->nbytes)
        return false;
    if (!go_together(plan->first, description))
        return false;
    if (!plan->group_fusion && !same_group(plan->first, description))
        return false;
    plan->nbytes += nbytes;
    return true;
}
