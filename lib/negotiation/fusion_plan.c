/* SPDX-License-Identifier: Apache-2.0 */
/* Which allreduces are fused; see fusion_plan.h. Allreduces that devices reduce themselves are not
 * fused: the vendor is called for each, and gains nothing. */
#include "lib/negotiation/fusion_plan.h"

static bool can_fuse(const struct description *description, size_t most)
{
    return description->kind == COLLECTIVE_ALLREDUCE && description->op != HVD_ADASUM &&
           description->memory != MEMORY_DEVICE_REDUCES && description_bytes(description) <= most;
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

void fusion_plan_init(struct fusion_plan *plan, const struct description *first,
                      struct fusion_limits limits, bool group_fusion)
{
    *plan = (struct fusion_plan){ .first = first,
                                  .nbytes = description_bytes(first),
                                  .limits = limits,
                                  .group_fusion = group_fusion };
    if (!can_fuse(first, limits.each))
        plan->limits.together = 0;
}

bool fusion_plan_is_open(const struct fusion_plan *plan)
{
    return plan->nbytes < plan->limits.together;
}

bool fusion_plan_add(struct fusion_plan *plan, const struct description *description)
{
    size_t nbytes = description_bytes(description);
    if (!can_fuse(description, plan->limits.each) || plan->nbytes > plan->limits.together ||
        nbytes > plan->limits.together - plan->nbytes)
        return false;
    if (!go_together(plan->first, description))
        return false;
    if (!plan->group_fusion && !same_group(plan->first, description))
        return false;
    plan->nbytes += nbytes;
    return true;
}
