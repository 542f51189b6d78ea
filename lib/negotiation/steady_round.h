/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a schedule (schedule_plan.h) on one rank: which of them it has submitted, and
 * which operations are complete.
 *
 * A rank commits (steady.h) to operations in order, each when all of its tensors are there, in
 * whatever order they came. A tensor that comes before its operation is complete, or before the
 * rank has committed to the operations in front of it, is held. When the steady state ends, held
 * tensors are offered to the agreement like all others that are not done.
 *
 * Why no rank waits for ever. A rank whose program waits for a held tensor, while the next
 * operation is not complete, leaves at once (steady_round_is_stuck()). Assume that no rank leaves,
 * and nothing is under way. Let n be the least number of operations that any rank has committed to.
 * All operations below n are done on all ranks. A rank that has committed to n operations has no
 * tensor that is committed to and not done; if its program waited for a held tensor, operation n
 * would be complete and the rank would commit to it, or the rank would leave. So its program does
 * not wait: it still runs, and will submit something, wait or leave. tests/unit/lib/negotiation/
 * steady_round_test.c goes through every order of events of small worlds. */
#ifndef LIB_NEGOTIATION_STEADY_ROUND_H
#define LIB_NEGOTIATION_STEADY_ROUND_H

#include "lib/negotiation/schedule_plan.h"

#include <stdbool.h>
#include <stdint.h>

struct steady_round {
    struct schedule schedule;
    int held;                   /* tensors of operations that are not committed to */
    int missing[SCHEDULE_MAX];  /* of each operation: tensors that are not there */
    void *owners[SCHEDULE_MAX]; /* of each tensor, until its operation is done; NULL: not there */
};

/* `schedule` is copied. */
void steady_round_begin(struct steady_round *round, const struct schedule *schedule);

/* The operation with that number. */
static inline const struct schedule_operation *
steady_round_operation(const struct steady_round *round, uint32_t number)
{
    return &round->schedule.operations[number % (uint32_t)round->schedule.count];
}

/* The place of the tensor of a slot, from operation `committed` on; -1 if there is none, or
 * the tensor is there already. */
int steady_round_find(const struct steady_round *round, int slot, uint32_t committed);

/* A tensor has come to a place that is free. */
void steady_round_put(struct steady_round *round, int place, void *owner);

/* `done`: operations that are done. A tensor cannot be there for two operations at once. */
bool steady_round_is_complete(const struct steady_round *round, uint32_t number, uint32_t done);

/* The rank commits to an operation that is complete. */
void steady_round_commit(struct steady_round *round, uint32_t number);

/* An operation is done: its places are free. */
void steady_round_done(struct steady_round *round, uint32_t number);

/* True if tensors are held that no other rank can bring forward: this rank must submit others
 * first. */
static inline bool steady_round_is_stuck(const struct steady_round *round, uint32_t committed,
                                         uint32_t done)
{
    return round->held > 0 && !steady_round_is_complete(round, committed, done);
}

/* How many tensors the first `done` operations have. */
uint64_t steady_round_tensors(const struct steady_round *round, uint32_t done);

/* Takes out any tensor that is there; NULL when there is none. Nothing is committed to any more. */
void *steady_round_take(struct steady_round *round);

/* Nothing is there any more. */
void steady_round_forget(struct steady_round *round);

/* A place among the tensors; zero before the first. */
struct steady_cursor {
    int place, operation;
};

/* The next tensor that is there, in the order of places, and the number of its operation, which is
 * at least `done`. NULL behind the last. */
void *steady_round_next(const struct steady_round *round, struct steady_cursor *cursor,
                        uint32_t done, uint32_t *number);

#endif
