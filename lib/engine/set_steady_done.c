/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an operation of a steady state (set_steady.c): all ranks have committed to it. What a
 * decision of the root would bring is made of the ranks' data, and taken like a decision
 * (decisions.c). Fails as decision_take() and set_steady_check() do. */
#include "lib/engine/set_steady_impl.h"

#include "lib/negotiation/contribution.h"

#include <string.h>

/* Puts the data of all ranks together, in order of rank. */
static void gather_kept(struct process_set *set, uint32_t number, struct agreed *agreed)
{
    size_t *offsets = set->steady.offsets;
    offsets[0] = 0;
    for (int rank = 0; rank < set->size; rank++) {
        const struct steady_kept *kept = steady_kept_at(set, rank, number);
        memcpy(set->steady.gathered + offsets[rank], kept->data, kept->nbytes);
        offsets[rank + 1] = offsets[rank] + kept->nbytes;
    }
    agreed->data = set->steady.gathered;
    agreed->nbytes = offsets[set->size];
    agreed->offsets = offsets;
}

/* Bytes of all tensors of an operation. */
static size_t bytes_together(const struct agreed *agreed, int count)
{
    size_t nbytes = 0;
    for (int i = 0; i < count; i++)
        nbytes += description_bytes(&agreed[i].description);
    return nbytes;
}

/* What comes with the root's decision otherwise. */
static int fill_agreed(struct process_set *set, const struct steady_operation *operation,
                       uint32_t number, struct agreed *agreed, struct err *err)
{
    const struct description *description = &agreed->description;
    int ntensors = operation->what.count;
    bool is_inline = operation->what.choice.algorithm == SCHEDULED_INLINE,
         is_sum = description_is_reduction(description);
    size_t nbytes = is_sum ? is_inline ? bytes_together(agreed, ntensors) : 0 : SIZE_MAX;
    int rc = set_steady_check(set, number, nbytes, err);
    if (rc < 0)
        return rc;
    if (is_sum && is_inline) {
        const unsigned char *at = set->steady.gathered;
        set_steady_reduce(set, description, nbytes / dtype_size((int)description->dtype), number,
                          steady_kept_at(set, set->rank, number)->data, set->steady.gathered);
        for (int i = 0; i < ntensors; i++) {
            agreed[i].data = at;
            agreed[i].nbytes = description_bytes(&agreed[i].description);
            at += agreed[i].nbytes;
        }
    } else if (!is_sum && (is_inline || collective_has_own_rows(description->kind))) {
        gather_kept(set, number, agreed);
    }
    return HVD_OK;
}

static void take_owners(struct process_set *set, const struct steady_operation *operation,
                        uint32_t number)
{
    struct set_steady *steady = &set->steady;
    for (int i = 0; i < operation->what.count; i++) {
        struct tensor *own = steady->round->owners[operation->what.first + i];
        steady->agreed[i] = (struct agreed){
            .owner = own, .name = own->name, .description = own->description, .last_rank = -1
        };
    }
    steady_round_done(steady->round, number);
}

int set_steady_complete(struct process_set *set, uint32_t number, struct err *err)
{
    const struct steady_operation *operation = steady_operation_at(set, number);
    bool is_inline = operation->what.choice.algorithm == SCHEDULED_INLINE;
    struct decision decision = { .kind = is_inline ? DECISION_DONE : DECISION_BATCH,
                                 .count = is_inline ? 1 : operation->what.count,
                                 .choice = { .algorithm =
                                                 (enum algorithm)operation->what.choice.algorithm,
                                             .piece = operation->what.choice.piece } };
    take_owners(set, operation, number);
    if (operation->what.choice.algorithm == SCHEDULED_SENT) {
        set->decided.count++;
        return set_steady_complete_sent(set, set->steady.agreed->owner, number, err);
    }
    int rc = fill_agreed(set, operation, number, set->steady.agreed, err);
    set->decided.count++;
    for (int i = 0; rc >= 0 && i < operation->what.count; i += decision.count) {
        decision.tensors = &set->steady.agreed[i];
        rc = decision_take(set, &decision, err);
    }
    return rc;
}
