/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a schedule: the tensors of a round, some of them fused. Pure arithmetic.
 *
 * Small allreduces that follow each other are fused, across large tensors in between, until
 * SCHEDULE_FUSED_MAX bytes are together. A fused operation stands where its last tensor stood: no
 * rank waits for a tensor of it that usually comes later. Tensors are not fused across a place
 * where the program waited. */
#ifndef LIB_NEGOTIATION_SCHEDULE_PLAN_H
#define LIB_NEGOTIATION_SCHEDULE_PLAN_H

#include "lib/negotiation/fusion_plan.h"
#include "lib/negotiation/schedule.h"

/* More data are worth a transfer of their own, while the rest of a step is still being made. */
enum { SCHEDULE_FUSED_MAX = 256 * 1024 };

/* An operation: `count` tensors. */
struct schedule_operation {
    int first, count;              /* of the slots */
    struct schedule_choice choice; /* SCHEDULED_FUSED: to be chosen */
};

struct schedule {
    int count, ntensors;
    struct schedule_operation operations[SCHEDULE_MAX]; /* in order */
    int slots[SCHEDULE_MAX];
};

/* `descriptions` are those of the round's tensors. */
void schedule_plan(struct schedule *schedule, const struct schedule_round *round,
                   const struct description *const descriptions[], struct fusion_limits limits,
                   size_t inline_max);

#endif
