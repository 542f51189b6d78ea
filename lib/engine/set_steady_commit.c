/* SPDX-License-Identifier: Apache-2.0 */
/* What this rank commits to in a steady state (set_steady.c): tensors that its program submits, in
 * the order of the schedule. A tensor whose turn has not come is held. Cannot fail: a rank that
 * cannot commit leaves, and the agreement says what is wrong. */
#include "lib/engine/set_steady_impl.h"

#include "lib/negotiation/contribution.h"
#include "lib/reduce/reduce.h"

#include <string.h>

enum { STEADY_HEAD = 12 }; /* of a TREE_STEADY: epoch, number, digest */

_Static_assert((int)STEADY_RANKS_MAX <= (int)LISTED_ROWS_RANKS,
               "ranks offer the numbers of an alltoall");

uint32_t set_steady_commit(struct process_set *set, const void *data, size_t nbytes)
{
    struct tree_link *tree;
    unsigned char head[STEADY_HEAD];
    struct wire_writer writer = { .data = head, .capacity = sizeof head };
    uint32_t number = steady_commit(&set->steady.state);
    steady_put_head(&writer, set->steady.state.epoch, number);
    wire_put_u32(&writer, steady_operation_at(set, number)->digest);
    for (int i = 0; (tree = set_tree_at(set, i)); i++)
        tree_link_put_parts(tree, TREE_STEADY, head, sizeof head, data, nbytes);
    return number;
}

void set_steady_own(struct process_set *set, uint32_t number, struct tensor *tensor)
{
    struct steady_round *round = set->steady.round;
    const struct schedule_operation *operation = steady_round_operation(round, number);
    if (!tensor) {
        steady_round_done(round, number);
        return;
    }
    if (!round->owners[operation->first]) {
        steady_round_put(round, operation->first, tensor);
        steady_round_commit(round, number);
    }
    round->owners[operation->first] = tensor;
}

/* How much of an offer's data goes with the commitment: all, or what goes with a decision to move
 * data. */
static size_t bytes_to_send(const struct process_set *set, const struct steady_operation *operation,
                            const struct offer *offer)
{
    if (operation->what.choice.algorithm == SCHEDULED_INLINE)
        return offer->nbytes;
    return contribution_rows_bytes(operation->remembered.description->kind, set->size);
}

/* True if the data of the offer come as the schedule says. */
static bool is_expected(const struct process_set *set, const struct steady_operation *operation,
                        const struct offer *offer)
{
    if (operation->what.choice.algorithm == SCHEDULED_SENT)
        return set_steady_can_send(set, offer->owner);
    bool is_inline = operation->what.choice.algorithm == SCHEDULED_INLINE;
    return !is_inline || (offer->complete && offer->nbytes <= STEADY_DATA_MAX);
}

bool set_steady_offer_next(struct process_set *set, const struct offer *offer)
{
    const struct steady_operation *operation =
        steady_operation_at(set, set->steady.state.committed);
    uint32_t number;
    if (!is_expected(set, operation, offer)) {
        set_steady_leave(set);
        return false;
    }
    if (operation->what.choice.algorithm == SCHEDULED_SENT) {
        number = set_steady_send(set, offer->owner);
    } else {
        size_t nbytes = bytes_to_send(set, operation, offer);
        number = set_steady_commit(set, offer->data, nbytes);
        set_steady_keep(set, number, offer->data, nbytes);
    }
    steady_round_commit(set->steady.round, number);
    return true;
}

/* Puts the inputs of fused tensors one behind the other. Returns the number of bytes. */
static size_t pack_inputs(const struct steady_operation *operation, void *const *owners,
                          unsigned char *out)
{
    size_t total = 0;
    for (int i = 0; i < operation->what.count; i++) {
        const struct tensor *own = owners[operation->what.first + i];
        const struct description *description = &own->description;
        size_t nbytes = description_bytes(description);
        if (description->prescale != 1)
            scale_function(description->dtype)(
                out + total, own->input, shape_count(&description->shape), description->prescale);
        else if (nbytes > 0)
            memcpy(out + total, own->input, nbytes);
        total += nbytes;
    }
    return total;
}

static void commit_fused(struct process_set *set)
{
    struct set_steady *steady = &set->steady;
    uint32_t number = steady->state.committed;
    const struct steady_operation *operation = steady_operation_at(set, number);
    struct steady_kept *kept = steady_kept_at(set, set->rank, number);
    bool is_inline = operation->what.choice.algorithm == SCHEDULED_INLINE;
    kept->digest = operation->digest;
    kept->nbytes =
        is_inline ? (uint32_t)pack_inputs(operation, steady->round->owners, kept->data) : 0;
    set_steady_commit(set, kept->data, kept->nbytes);
    steady_round_commit(steady->round, number);
}

void set_steady_commit_complete(struct process_set *set)
{
    struct steady *state = &set->steady.state;
    struct steady_round *round = set->steady.round;
    bool moved = false, is_on = true;
    while (is_on && steady_may_commit(state) &&
           steady_round_is_complete(round, state->committed, state->done)) {
        const struct schedule_operation *operation =
            steady_round_operation(round, state->committed);
        if (operation->count == 1)
            is_on = submit_commit(round->owners[operation->first]);
        else
            commit_fused(set);
        moved = true;
    }
    if (steady_is_exhausted(state) || (moved && set_steady_is_stuck(set, NULL, UINT64_MAX)))
        set_steady_leave(set);
}

/* The place of an offer in the schedule, -1 if it has none. */
static int find_place(const struct process_set *set, const struct offer *offer)
{
    int slot = negotiation_slot(set->negotiation, offer->name);
    if (slot < 0 || !negotiation_repeats(set->negotiation, slot, offer->name, &offer->description))
        return -1;
    return steady_round_find(set->steady.round, slot, set->steady.state.committed);
}

bool set_steady_offer(struct process_set *set, const struct offer *offer)
{
    struct set_steady *steady = &set->steady;
    if (steady->state.phase != STEADY_ON)
        return false;
    int place = set_steady_is_observed(set) ? -1 : find_place(set, offer);
    if (place < 0) {
        set_steady_leave(set);
        return false;
    }
    const struct steady_operation *next = steady_operation_at(set, steady->state.committed);
    steady_round_put(steady->round, place, offer->owner);
    if (next->what.first == place && next->what.count == 1 && steady_may_commit(&steady->state))
        set_steady_offer_next(set, offer); /* if it leaves, the tensor is offered again */
    set_steady_commit_complete(set);
    return true;
}

bool set_steady_has(const struct process_set *set, const char *name)
{
    const struct set_steady *steady = &set->steady;
    int slot = set_is_steady(set) ? negotiation_slot(set->negotiation, name) : -1;
    for (int i = 0; slot >= 0 && i < steady->round->schedule.ntensors; i++)
        if (steady->round->schedule.slots[i] == slot && steady->round->owners[i])
            return true;
    return false;
}
