/* SPDX-License-Identifier: Apache-2.0 */
/* One question to all ranks of a set, as one rank of the tree sees it (stall.h):
 *
 *   idle -> asking (has its own answer, and has asked the children) -> idle (all children have
 *   answered, or time is up: the ranks below those that have not are silent)
 *
 * A rank takes part in two rounds at a time at most: one of the stall inspector and one for a
 * person, told apart by the probe's id. A new probe while asking begins a new round: the root has
 * given the old round up. */
#ifndef LIB_STALL_STALL_ROUND_H
#define LIB_STALL_STALL_ROUND_H

#include "lib/base/topology.h"
#include "lib/stall/stall.h"
#include "lib/stall/stall_message.h"

enum stall_round_kind { ROUND_OF_INSPECTOR, ROUND_FOR_PERSON, STALL_ROUNDS };

struct stall_round {
    bool asking;
    struct stall_probe probe;
    struct stall_answer answer;
    unsigned unanswered; /* bit i: child i */
    uint64_t until_ns;
};

/* The round that a probe or an answer with this id belongs to. */
enum stall_round_kind stall_round_of(uint32_t id);

/* The id of the next probe, from the previous id. */
uint32_t stall_round_next_id(uint32_t id, enum stall_round_kind kind);

/* Begins to answer `round->probe`, with the own answer (stall_self.h). False if there is no rank
 * below to ask. */
bool stall_round_begin(struct stall_round *round, const struct stall_options *options,
                       uint64_t counted_ns, const struct tree_position *tree, uint64_t now_ns);

/* The probe for the children, who have less time. */
struct stall_probe stall_round_probe_children(const struct stall_round *round);

/* A child has answered. A late answer is dropped; HVD_ERR_PROTOCOL for an answer to another
 * question. */
int stall_round_answer(struct stall_round *round, int child, const struct stall_answer *answer,
                       struct err *err);

/* True if all have answered, or time is up. */
bool stall_round_is_over(const struct stall_round *round, uint64_t now_ns);
void stall_round_end(struct stall_round *round, const struct tree_position *tree);

#endif
