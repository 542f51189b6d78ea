/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a group; see direct_flow.h. The own operands are combined together with those of the
 * previous member, or of the next member if there is no previous one. */
#include "lib/collective/direct_flow.h"

#include "lib/collective/exchange_schedule.h"
#include "lib/collective/piece.h"

#include <string.h>

static struct direct_flow *direct_of(const struct exchange_flow *flow)
{
    return (struct direct_flow *)((char *)flow - offsetof(struct direct_flow, flow));
}

static size_t share_size(const struct direct_plan *plan, int member)
{
    return plan->bounds[member + 1] - plan->bounds[member];
}

/* How many of the bytes that begin at `operands` have been fed. */
static size_t fed(const struct direct_flow *direct, const unsigned char *operands)
{
    size_t start = (size_t)(operands - direct->input);
    return direct->fed > start ? direct->fed - start : 0;
}

static size_t direct_flow_operands_ready(const struct exchange_flow *flow, int index)
{
    return fed(direct_of(flow), flow->exchanges[index].operands);
}

static size_t direct_flow_results_ready(const struct exchange_flow *flow, int index)
{
    const struct direct_flow *direct = direct_of(flow);
    (void)index;
    return direct->released;
}

/* The exchange whose operands are combined with the own ones. */
static int own_exchange(const struct direct_flow *direct)
{
    return direct->self > 0 ? direct->self - 1 : 0;
}

static size_t direct_flow_turn(const struct exchange_flow *flow, int index)
{
    const struct direct_flow *direct = direct_of(flow);
    size_t before = index == 0 ? flow->exchanges[0].awaited : flow->exchanges[index - 1].used;
    size_t own = index == own_exchange(direct) ? fed(direct, direct->own) : before;
    return own < before ? own : before;
}

/* The own operands come after those of the previous members: all but the first of these have been
 * combined at `front`. */
static void combine_own(const struct direct_flow *direct, const unsigned char *before,
                        size_t offset, size_t nbytes)
{
    combiner_apply(&direct->combiner, direct->result + offset, before, direct->own + offset, nbytes,
                   direct->self == direct->members - 1);
}

/* For a member before this one. */
static void combine_before(const struct direct_flow *direct, int member, size_t offset,
                           const unsigned char *data, size_t nbytes)
{
    unsigned char *front = direct->front + offset;
    if (member == 0 && direct->self == 1) {
        combine_own(direct, data, offset, nbytes);
        return;
    }
    if (member > 0)
        combiner_apply(&direct->combiner, front, front, data, nbytes, false);
    else if (data != front)
        memcpy(front, data, nbytes);
    if (member == direct->self - 1)
        combine_own(direct, front, offset, nbytes);
}

static void combine_behind(const struct direct_flow *direct, int member, size_t offset,
                           const unsigned char *data, size_t nbytes)
{
    const unsigned char *before = member == 1 ? direct->own : direct->result;
    combiner_apply(&direct->combiner, direct->result + offset, before + offset, data, nbytes,
                   member == direct->members - 1);
}

static void direct_flow_combine(struct exchange_flow *flow, int index, size_t offset,
                                const unsigned char *data, size_t nbytes)
{
    struct direct_flow *direct = direct_of(flow);
    int member = direct_member(index, direct->self);
    if (member < direct->self)
        combine_before(direct, member, offset, data, nbytes);
    else
        combine_behind(direct, member, offset, data, nbytes);
    if (index == flow->count - 1 && !direct->held)
        direct->released = offset + nbytes;
}

static const struct exchange_rules rules = { direct_flow_operands_ready, direct_flow_results_ready,
                                             direct_flow_turn, direct_flow_combine };

/* True if the combined operands of the previous members need memory of their own, because the own
 * operands, which come after them, lie where the result goes. */
static bool needs_front(const struct direct_plan *plan)
{
    return plan->self > 1 && plan->input && plan->input + plan->bounds[plan->self] == plan->result;
}

/* The data of exchange 0 may have to wait for the own operands, but for nothing else. */
static bool first_waits(const struct direct_plan *plan)
{
    return plan->fed && plan->self < 2;
}

size_t direct_flow_scratch(const struct direct_plan *plan)
{
    size_t slots = (size_t)plan->members - 2 + needs_front(plan) + first_waits(plan);
    return plan->input ? slots * operation_align(share_size(plan, plan->self)) : 0;
}

static void direct_flow_fill(const struct direct_plan *plan, struct exchange *exchange, int member)
{
    size_t own_size = share_size(plan, plan->self), its_size = share_size(plan, member);
    *exchange = (struct exchange){ .peer = plan->ranks ? plan->ranks[member] : member };
    if (plan->input && its_size > 0) {
        exchange->operands = plan->input + plan->bounds[member];
        exchange->operands_size = its_size;
    }
    exchange->awaited = plan->input ? own_size : 0;
    if (plan->output && its_size > 0) {
        exchange->place = plan->output + plan->bounds[member];
        exchange->place_size = its_size;
    }
    exchange->results = plan->result;
    exchange->results_size = plan->output ? own_size : 0;
}

/* With two or more members before this one, the operands of the first are put where the sum
 * begins. */
static void divide_scratch(struct direct_flow *direct, const struct direct_plan *plan,
                           unsigned char *scratch)
{
    struct exchange *exchanges = direct->flow.exchanges;
    size_t size = operation_align(share_size(plan, plan->self));
    direct->front = plan->result;
    if (needs_front(plan)) {
        direct->front = scratch;
        scratch += size;
    }
    if (plan->self > 1) {
        exchanges[0].slot = direct->front;
        exchanges[0].stays = true;
    }
    for (int i = first_waits(plan) ? 0 : 1; i < direct->flow.count; i++, scratch += size)
        exchanges[i].slot = scratch;
}

static size_t direct_piece(const struct direct_plan *plan)
{
    if (plan->fed || plan->held)
        return EXCHANGE_IN_SEQUENCE;
    return plan->piece > 0 ? plan->piece : PIECE_MOST;
}

void direct_flow_begin(struct direct_flow *direct, const struct direct_plan *plan,
                       struct exchange *exchanges, void *scratch)
{
    size_t own_size = share_size(plan, plan->self);
    *direct = (struct direct_flow){
        .flow = { .rules = &rules,
                  .exchanges = exchanges,
                  .count = plan->members - 1,
                  .element_size = plan->combiner.element_size,
                  .piece = direct_piece(plan),
                  .block = combiner_block(&plan->combiner),
                  .staging = plan->staging },
        .combiner = plan->combiner,
        .self = plan->self,
        .members = plan->members,
        .result = plan->result,
        .held = plan->held,
        .fed = plan->fed ? 0 : SIZE_MAX,
        .released = plan->input || plan->held ? 0 : own_size,
    };
    if (plan->input && plan->bounds[plan->members] > 0)
        direct->input = plan->input + plan->bounds[0];
    for (int i = 0; i < direct->flow.count; i++)
        direct_flow_fill(plan, &exchanges[i], direct_member(i, plan->self));
    if (plan->input && own_size > 0) {
        direct->own = plan->input + plan->bounds[plan->self];
        divide_scratch(direct, plan, scratch);
    }
    exchange_flow_begin(&direct->flow);
}

void direct_flow_feed(struct direct_flow *direct, size_t nbytes)
{
    direct->fed = nbytes;
    if (direct->own)
        exchange_flow_advance(&direct->flow, own_exchange(direct));
}

size_t direct_flow_reduced(const struct direct_flow *direct)
{
    return direct->flow.exchanges[direct->flow.count - 1].used;
}

void direct_flow_release(struct direct_flow *direct, size_t nbytes)
{
    direct->released = nbytes;
}

/* How much of the result of a member's share is complete; `*size` is the size of the share. */
static size_t result_of(const struct direct_flow *direct, int member, size_t *size)
{
    const struct exchange *exchanges = direct->flow.exchanges;
    if (member == direct->self) {
        *size = exchanges[0].results_size;
        return direct->released;
    }
    const struct exchange *exchange = &exchanges[direct_exchange(member, direct->self)];
    *size = exchange->place_size;
    return exchange->placed;
}

size_t direct_flow_finished(const struct direct_flow *direct)
{
    size_t sum = 0;
    for (int member = 0; member < direct->members; member++) {
        size_t size, there = result_of(direct, member, &size);
        sum += there;
        if (there < size)
            break;
    }
    return sum;
}
