/* SPDX-License-Identifier: Apache-2.0 */
/* One step of a random program on this rank: submitted, waited for in one of the ways there are,
 * and what came of it compared with what a plain loop makes of the inputs of all ranks. */
#ifndef TESTS_RANDOM_CARRY_OUT_H
#define TESTS_RANDOM_CARRY_OUT_H

#include "tests/random/plan.h"

struct attempt {
    struct step step; /* as this rank wants it */
    int rank;
    int64_t handle;
    void *input, *output; /* the same if in place */
};

/* False if this rank has no part in it. Ends the process, saying why, if it is refused. */
bool attempt_submit(struct attempt *attempt, const struct step *step, int rank, bool in_place);

/* Waits, checks and frees. NULL if all is right, or what is not. */
const char *attempt_finish(struct attempt *attempt, int way);

#endif
