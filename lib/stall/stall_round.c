/* SPDX-License-Identifier: Apache-2.0 */
/* One question to all ranks of a set; see stall_round.h. */
#include "lib/stall/stall_round.h"

#include "lib/stall/stall_self.h"

#define MS 1000000ull

enum stall_round_kind stall_round_of(uint32_t id)
{
    return id & STALL_ASKED_BY_PERSON ? ROUND_FOR_PERSON : ROUND_OF_INSPECTOR;
}

uint32_t stall_round_next_id(uint32_t id, enum stall_round_kind kind)
{
    uint32_t number = (id + 1) & ~(STALL_ASKS_WHO_IS_NOT_STUCK | STALL_ASKED_BY_PERSON);
    return kind == ROUND_FOR_PERSON ? number | STALL_ASKED_BY_PERSON : number;
}

bool stall_round_begin(struct stall_round *round, const struct stall_options *options,
                       uint64_t counted_ns, const struct tree_position *tree, uint64_t now_ns)
{
    round->asking = true;
    round->until_ns = now_ns + round->probe.budget_ms * MS;
    round->unanswered = (1u << tree->nchildren) - 1;
    stall_self_answer(options, counted_ns, &round->probe, &round->answer, now_ns);
    return round->unanswered != 0;
}

struct stall_probe stall_round_probe_children(const struct stall_round *round)
{
    struct stall_probe below = round->probe;
    below.budget_ms = below.budget_ms / 4 * 3;
    return below;
}

int stall_round_answer(struct stall_round *round, int child, const struct stall_answer *answer,
                       struct err *err)
{
    if (!round->asking || answer->id != round->probe.id || !(round->unanswered >> child & 1))
        return HVD_OK;
    if (answer->nnames != round->probe.names.count)
        return fail(err, HVD_ERR_PROTOCOL, "an answer of the stall inspector to something else");
    stall_answer_merge(&round->answer, answer);
    round->unanswered &= ~(1u << child);
    return HVD_OK;
}

bool stall_round_is_over(const struct stall_round *round, uint64_t now_ns)
{
    return round->asking && (round->unanswered == 0 || round->until_ns <= now_ns);
}

void stall_round_end(struct stall_round *round, const struct tree_position *tree)
{
    for (int i = 0; i < tree->nchildren; i++)
        if (round->unanswered >> i & 1)
            rank_ranges_add(&round->answer.silent, tree->children[i], tree_child_end(tree, i));
    round->asking = false;
}
