/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of the tensors of a round; see schedule_plan.h. */
#include "lib/negotiation/schedule_plan.h"

#include "lib/base/min.h"

/* Tensors that are to be fused. */
struct schedule_batch {
    struct fusion_plan plan;
    int count;
    struct schedule_choice choice; /* of the first */
    int slots[SCHEDULE_MAX];
};

static void schedule_put(struct schedule *schedule, const int *slots, int count,
                         struct schedule_choice choice)
{
    schedule->operations[schedule->count++] =
        (struct schedule_operation){ schedule->ntensors, count, choice };
    for (int i = 0; i < count; i++)
        schedule->slots[schedule->ntensors++] = slots[i];
}

static void schedule_put_batch(struct schedule *schedule, struct schedule_batch *batch,
                               size_t inline_max)
{
    struct schedule_choice choice = batch->choice;
    if (batch->count == 0)
        return;
    if (batch->count > 1)
        choice = (struct schedule_choice){ batch->plan.nbytes <= inline_max ? SCHEDULED_INLINE
                                                                            : SCHEDULED_FUSED,
                                           0 };
    schedule_put(schedule, batch->slots, batch->count, choice);
    batch->count = 0;
}

/* True if a batch contains a tensor, which cannot be there twice at once. */
static bool schedule_batch_has(const struct schedule_batch *batch, int slot)
{
    for (int i = 0; i < batch->count; i++)
        if (batch->slots[i] == slot)
            return true;
    return false;
}

void schedule_plan(struct schedule *schedule, const struct schedule_round *round,
                   const struct description *const descriptions[], struct fusion_limits limits,
                   size_t inline_max)
{
    struct schedule_batch batch = { .count = 0 };
    limits.together = round->may_fuse ? size_min(limits.together, SCHEDULE_FUSED_MAX) : 0;
    schedule->count = schedule->ntensors = 0;
    for (int i = 0; i < round->count; i++) {
        const struct scheduled *tensor = &round->tensors[i];
        struct fusion_plan alone;
        fusion_plan_init(&alone, descriptions[i], limits, true);
        if (tensor->is_alone || schedule_batch_has(&batch, tensor->slot))
            schedule_put_batch(schedule, &batch, inline_max);
        if (!fusion_plan_is_open(&alone)) {
            schedule_put(schedule, &tensor->slot, 1, tensor->choice);
            continue;
        }
        if (batch.count > 0 && !fusion_plan_add(&batch.plan, descriptions[i]))
            schedule_put_batch(schedule, &batch, inline_max);
        if (batch.count == 0) {
            batch.plan = alone;
            batch.choice = tensor->choice;
        }
        batch.slots[batch.count++] = tensor->slot;
    }
    schedule_put_batch(schedule, &batch, inline_max);
}
