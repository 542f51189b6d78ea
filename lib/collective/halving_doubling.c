/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce by halving and doubling (Rabenseifner's algorithm): first a reduce-scatter, in which
 * partners at each level halve the piece that both work on, and each sends one half and combines
 * the other; then an allgather that puts the pieces together in the opposite order.
 *
 * Everything is combined in the output. After a rank has sent a half, it writes only to the other
 * half, until the result of the sent elements comes. This result needs the sent elements, so they
 * have been read by then. */
#include "lib/collective/doubling.h"

static size_t ready_before(const struct doubling *doubling, int index)
{
    return index == 0 ? doubling->nbytes : doubling->exchanges[index - 1].used;
}

/* How much is ready of the half that begins at `start` of the piece. */
static size_t behind(size_t start, size_t ready)
{
    return ready > start ? ready - start : 0;
}

static size_t halving_doubling_operands_ready(const struct exchange_flow *flow, int index)
{
    const struct doubling *doubling = doubling_of(flow);
    bool upper = doubling_is_left(doubling, index);
    return behind(upper ? flow->exchanges[index].awaited : 0, ready_before(doubling, index));
}

static size_t halving_doubling_turn(const struct exchange_flow *flow, int index)
{
    const struct doubling *doubling = doubling_of(flow);
    bool lower = doubling_is_left(doubling, index);
    return behind(lower ? 0 : flow->exchanges[index].operands_size, ready_before(doubling, index));
}

/* How much of the result is complete, from the front of the outgoing data of exchange `index`: the
 * own piece, and pieces that have been put next to it since. */
static size_t halving_doubling_results_ready(const struct exchange_flow *flow, int index)
{
    const struct doubling *doubling = doubling_of(flow);
    size_t ready = flow->exchanges[flow->count - 1].used;
    for (int i = flow->count - 1; i > index; i--) {
        const struct exchange *exchange = &flow->exchanges[i];
        bool low = doubling_is_left(doubling, i);
        size_t lower = low ? ready : exchange->placed, upper = low ? exchange->placed : ready;
        size_t size = low ? exchange->results_size : exchange->place_size;
        ready = lower + (lower == size ? upper : 0);
    }
    return ready;
}

static void halving_doubling_combine(struct exchange_flow *flow, int index, size_t offset,
                                     const unsigned char *data, size_t nbytes)
{
    const struct doubling *doubling = doubling_of(flow);
    int level = doubling_level(doubling, index);
    size_t start = level < 0 ? 0 : (size_t)(flow->exchanges[index].results - doubling->output);
    unsigned char *out = doubling->output + start;
    const unsigned char *own = index == 0 ? doubling->input + start : out;
    bool left = doubling_is_left(doubling, index);
    combiner_apply(&doubling->combiner, out + offset, left ? own + offset : data,
                   left ? data : own + offset, nbytes, doubling_is_last(doubling, index));
}

static const struct exchange_rules rules = { halving_doubling_operands_ready,
                                             halving_doubling_results_ready, halving_doubling_turn,
                                             halving_doubling_combine };
static const struct operation_type type = EXCHANGE_OPERATION_TYPE("halving-doubling");

static void halving_doubling_fill(struct doubling *doubling, int index)
{
    struct exchange *exchange = &doubling->exchanges[index];
    int level = doubling_level(doubling, index);
    int place = doubling_place(doubling->rank, doubling->size);
    struct doubling_piece own = doubling_piece(doubling->count, place, level + 1);
    struct doubling_piece others = doubling_piece(doubling->count, place ^ 1 << level, level + 1);
    size_t size = doubling->flow.element_size;
    const unsigned char *source = index == 0 ? doubling->input : doubling->output;
    exchange->operands = source + others.start * size;
    exchange->operands_size = others.count * size;
    exchange->results = doubling->output + own.start * size;
    exchange->results_size = exchange->awaited = own.count * size;
    exchange->place = doubling->output + others.start * size;
    exchange->place_size = others.count * size;
}

/* The data of the first exchange never wait. */
static int fill_all(struct doubling *doubling, struct err *err)
{
    size_t scratch = 0;
    for (int i = doubling->folds; i < doubling->flow.count; i++) {
        halving_doubling_fill(doubling, i);
        scratch += i == 0 ? 0 : operation_align(doubling->exchanges[i].awaited);
    }
    int rc = doubling_allocate(doubling, scratch, err);
    unsigned char *slot = rc < 0 ? NULL : doubling->base.scratch;
    for (int i = 1; rc == HVD_OK && i < doubling->flow.count; i++) {
        doubling->exchanges[i].slot = slot;
        slot += operation_align(doubling->exchanges[i].awaited);
    }
    return rc;
}

struct operation *allreduce_halving_doubling_start(struct operation_store *store,
                                                   const struct operation_task *task,
                                                   struct err *err)
{
    struct doubling *doubling = doubling_create(store, task, &type, &rules, err);
    if (!doubling || (doubling_combines(doubling) && fill_all(doubling, err) < 0))
        return NULL;
    return doubling_begin(doubling);
}
