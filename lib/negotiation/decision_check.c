/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a received decision is possible:
 *   it has the data of its kind -> it is about submitted names -> it is fused with its like, and
 *   its algorithm can do it
 * Fails (HVD_ERR_PROTOCOL) when the decision is not possible. */
#include "lib/negotiation/contribution.h"
#include "lib/negotiation/fusion_plan.h"
#include "lib/negotiation/message.h"
#include "lib/negotiation/negotiation_impl.h"

enum { NEVER = -1 };

int negotiation_data_flags(const struct description *description, bool done)
{
    if (description_is_reduction(description))
        return done ? TENSOR_REDUCTION : 0;
    switch (description->kind) {
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_ALLTOALL:
        return TENSOR_LIST;
    case COLLECTIVE_BROADCAST:
        return done ? TENSOR_LIST : 0;
    case COLLECTIVE_ALLREDUCE: /* Adasum */
        return done ? NEVER : 0;
    case COLLECTIVE_ADD_SET:
        return done ? TENSOR_LIST : NEVER;
    case COLLECTIVE_BARRIER:
    case COLLECTIVE_REMOVE_SET:
        return done ? 0 : NEVER;
    default:
        return NEVER;
    }
}

int negotiation_check_data(const struct agreed *agreed, bool done, int flags, struct err *err)
{
    int data = flags & (TENSOR_REDUCTION | TENSOR_LIST);
    if (data != negotiation_data_flags(&agreed->description, done))
        return fail(err, HVD_ERR_PROTOCOL, "%s '%s' is %s with data 0x%x",
                    collective_name(agreed->description.kind), agreed->name,
                    done ? "done" : "to be run", (unsigned)data);
    if (agreed->absent && (done || agreed->description.memory != MEMORY_DEVICE_REDUCES ||
                           !description_can_join(&agreed->description)))
        return fail(err, HVD_ERR_PROTOCOL, "%s '%s' is said to lack a rank",
                    collective_name(agreed->description.kind), agreed->name);
    return HVD_OK;
}

int negotiation_check_agreed(const struct negotiation *negotiation, const struct pending *entry,
                             const struct agreed *agreed, struct err *err)
{
    bool one = !entry->variants || entry->variants->count == 1;
    if (one && description_agree(&agreed->description, negotiation_description(negotiation, entry)))
        return HVD_OK;
    return fail(err, HVD_ERR_PROTOCOL, "%s '%s' is decided on, which is not what was submitted",
                collective_name(agreed->description.kind), agreed->name);
}

int negotiation_check_run(struct algorithm_choice choice, const struct agreed *agreed, size_t count,
                          struct err *err)
{
    static const struct fusion_limits none = { SIZE_MAX, SIZE_MAX };
    struct fusion_plan plan;
    if (!algorithm_can((int)choice.algorithm, description_operation(&agreed->description)))
        return fail(err, HVD_ERR_PROTOCOL, "%s '%s' is to be run with algorithm %d",
                    collective_name(agreed->description.kind), agreed->name, (int)choice.algorithm);
    if (choice.piece == 0)
        return fail(err, HVD_ERR_PROTOCOL, "%s '%s' is to be run in pieces of impossible size",
                    collective_name(agreed->description.kind), agreed->name);
    fusion_plan_init(&plan, &agreed->description, none, true);
    for (size_t i = 1; i < count; i++)
        if (!fusion_plan_is_open(&plan) || !fusion_plan_add(&plan, &agreed[i].description))
            return fail(err, HVD_ERR_PROTOCOL, "%s '%s' is to be fused with %s '%s'",
                        collective_name(agreed[i].description.kind), agreed[i].name,
                        collective_name(agreed->description.kind), agreed->name);
    return HVD_OK;
}
