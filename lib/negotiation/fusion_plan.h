/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which allreduces are fused. Pure arithmetic. */
#ifndef LIB_NEGOTIATION_FUSION_PLAN_H
#define LIB_NEGOTIATION_FUSION_PLAN_H

#include "lib/negotiation/description.h"

#include <stdbool.h>
#include <stddef.h>

enum { FUSION_LOOK_AHEAD = 1024 /* tensors that are tried after the first */ };

struct fusion_limits {
    size_t together; /* bytes of all */
    size_t each;     /* bytes of one: larger ones go from where they lie */
};

struct fusion_plan {
    const struct description *first; /* borrowed */
    size_t nbytes;
    struct fusion_limits limits;
    bool group_fusion;
};

/* Begins a plan with one tensor. */
void fusion_plan_init(struct fusion_plan *plan, const struct description *first,
                      struct fusion_limits limits, bool group_fusion);

/* True if the plan could take any other tensor. */
bool fusion_plan_is_open(const struct fusion_plan *plan);

/* Adds another tensor if it fits the first one and there is room; returns whether it did. */
bool fusion_plan_add(struct fusion_plan *plan, const struct description *description);

#endif
