/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce by recursive doubling: at each level partners send each other their whole vector, and
 * both combine the two vectors in the same order, so that all ranks end up with the same bits.
 *
 * Incoming data of a level lie in that level's slot and are combined there, so outgoing data of a
 * level are never overwritten, however late the link reads them. Only the last result goes to the
 * output. The output is the slot of the last level, unless the output is also the input, which the
 * first partner must have read before. */
#include "lib/collective/doubling.h"

/* The vector of this rank before exchange `index`, and the place of the exchange's result. */
static const unsigned char *vector_before(const struct doubling *doubling, int index)
{
    return index == 0 ? doubling->input : doubling->exchanges[index - 1].slot;
}

static unsigned char *vector_behind(const struct doubling *doubling, int index)
{
    return doubling_is_last(doubling, index) ? doubling->output : doubling->exchanges[index].slot;
}

static size_t ready_before(const struct doubling *doubling, int index)
{
    return index == 0 ? doubling->nbytes : doubling->exchanges[index - 1].used;
}

static size_t recursive_doubling_operands_ready(const struct exchange_flow *flow, int index)
{
    return ready_before(doubling_of(flow), index);
}

static size_t recursive_doubling_results_ready(const struct exchange_flow *flow, int index)
{
    (void)index;
    return flow->exchanges[flow->count - 1].used;
}

static size_t recursive_doubling_turn(const struct exchange_flow *flow, int index)
{
    size_t ready = ready_before(doubling_of(flow), index), sent = flow->exchanges[0].sent;
    return flow->waits_for_sent && index == flow->count - 1 && sent < ready ? sent : ready;
}

static void recursive_doubling_combine(struct exchange_flow *flow, int index, size_t offset,
                                       const unsigned char *data, size_t nbytes)
{
    const struct doubling *doubling = doubling_of(flow);
    const unsigned char *own = vector_before(doubling, index) + offset;
    bool left = doubling_is_left(doubling, index);
    combiner_apply(&doubling->combiner, vector_behind(doubling, index) + offset, left ? own : data,
                   left ? data : own, nbytes, doubling_is_last(doubling, index));
}

static const struct exchange_rules rules = { recursive_doubling_operands_ready,
                                             recursive_doubling_results_ready,
                                             recursive_doubling_turn, recursive_doubling_combine };
static const struct operation_type type = EXCHANGE_OPERATION_TYPE("recursive-doubling");

static void recursive_doubling_fill(struct doubling *doubling, int index, unsigned char *slot)
{
    struct exchange *exchange = &doubling->exchanges[index];
    exchange->slot = slot;
    exchange->stays = true;
    exchange->awaited = doubling->nbytes;
    if (doubling_level(doubling, index) < 0)
        return;
    exchange->operands = vector_before(doubling, index);
    exchange->operands_size = doubling->nbytes;
}

static int fill_all(struct doubling *doubling, struct err *err)
{
    bool in_place = doubling->input == doubling->output;
    size_t slot_size = operation_align(doubling->nbytes), slots = (size_t)doubling->flow.count;
    int rc = doubling_allocate(doubling, (slots - !in_place) * slot_size, err);
    if (rc < 0)
        return rc;
    unsigned char *slot = doubling->base.scratch;
    for (int i = 0; i < doubling->flow.count; i++) {
        bool in_output = doubling_is_last(doubling, i) && !in_place;
        recursive_doubling_fill(doubling, i, in_output ? doubling->output : slot);
        slot = in_output ? slot : slot + slot_size;
    }
    doubling->flow.waits_for_sent = in_place && !doubling->folds;
    return HVD_OK;
}

struct operation *allreduce_recursive_doubling_start(struct operation_store *store,
                                                     const struct operation_task *task,
                                                     struct err *err)
{
    struct doubling *doubling = doubling_create(store, task, &type, &rules, err);
    if (!doubling || (doubling_combines(doubling) && fill_all(doubling, err) < 0))
        return NULL;
    return doubling_begin(doubling);
}
