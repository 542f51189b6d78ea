/* SPDX-License-Identifier: Apache-2.0 */
/* The round of tensors that a program repeats, found in the sequence of its tensors. Pure: tensors
 * in, a round out. schedule_plan.h makes operations of the round.
 *
 * A round is found when the last tensors are SCHEDULE_REPEATS rounds, and at least SCHEDULE_LEAST
 * tensors. Rounds of up to SCHEDULE_PERIOD_MAX tensors come in the same order each time, and a
 * tensor may come several times in a round. Rounds of up to SCHEDULE_MAX tensors, like a training
 * step, may come in another order each time; then a tensor comes once. The search takes place now
 * and then: after a failure, and after a steady state that was short, twice as many tensors must
 * come first, up to a limit. Interruptions do not lengthen that pause: a program that repeats
 * itself between interruptions is searched again, however often they come. */
#ifndef LIB_NEGOTIATION_SCHEDULE_H
#define LIB_NEGOTIATION_SCHEDULE_H

#include "lib/base/collective_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SCHEDULE_MAX = 512, /* tensors of a round */
    SCHEDULE_PERIOD_MAX = 32,
    SCHEDULE_REPEATS = 3,
    SCHEDULE_LEAST = 16,
    SCHEDULE_HISTORY = 2048,  /* a power of 2 */
    SCHEDULE_PAUSE_MAX = 8192 /* a search takes 0.3 ms at most, which is 40 ns for each of them */
};

/* What is no algorithm (enum algorithm). SCHEDULED_INLINE: the data come with the commitment.
 * SCHEDULED_FUSED: the data were moved together with those of other tensors. SCHEDULED_SENT: the
 * agreement lets the data be moved, but in a steady state they come with the commitment; each rank
 * sends to each other one what is for that one. */
enum { SCHEDULED_INLINE = -1, SCHEDULED_FUSED = -2, SCHEDULED_SENT = -3 };

/* How tensors are carried out. */
struct schedule_choice {
    int algorithm; /* enum algorithm, or one of the above */
    size_t piece;  /* of piece.h; 0 without an algorithm */
};

/* Which tensors are SCHEDULED_SENT. */
struct schedule_sent {
    size_t most[COLLECTIVE_KINDS]; /* bytes to one rank */
    bool is_all; /* only rounds of such tensors, and nothing else, are worth a steady state */
};

/* A tensor that has been carried out. */
struct scheduled {
    int slot; /* of the cache */
    struct schedule_choice choice;
    bool is_alone; /* the program waited for all earlier tensors before it submitted this one */
};

struct schedule_round {
    int count;
    bool may_fuse;
    struct scheduled tensors[SCHEDULE_MAX]; /* in the order of the last round */
};

struct schedule_search {
    struct scheduled history[SCHEDULE_HISTORY];
    uint32_t seen;   /* tensors since the last interruption */
    uint32_t since;  /* tensors since the last search or steady state */
    uint32_t pause;  /* at least so many must come before the next search */
    bool has_waited; /* the next tensor is alone */
    bool may_fuse;
};

void schedule_search_init(struct schedule_search *search);

/* A tensor has been carried out. */
void schedule_add(struct schedule_search *search, int slot, struct schedule_choice choice);

/* All tensors that any rank is known to have submitted are carried out, and the program has waited
 * for them. */
void schedule_waited(struct schedule_search *search);

/* Something came that no schedule can contain: the sequence begins anew. */
void schedule_interrupt(struct schedule_search *search);

/* A steady state is over, after `done` tensors. If they were few, tensors are fused in the next one
 * if they were not in this one, and the other way round: a program that waits for each tensor
 * before it submits the next cannot use fused ones. */
void schedule_ended(struct schedule_search *search, uint64_t done);

/* True and a round, the next tensor first, if it is time to search and there is one. */
bool schedule_find(struct schedule_search *search, struct schedule_round *round);

#endif
