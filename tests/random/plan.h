/* SPDX-License-Identifier: Apache-2.0 */
/* A random program: collectives that all ranks of a world submit, each in an order of its own. Some
 * rank may want something else than the others under one of the names. Every rank can make the
 * whole program from its number, and so knows what comes of it. */
#ifndef TESTS_RANDOM_PLAN_H
#define TESTS_RANDOM_PLAN_H

#include "lib/hvd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STEPS_MAX = 12, MEMBERS_MAX = 8 };

enum kind { ALLREDUCE, BROADCAST, ALLGATHER, ALLTOALL, REDUCESCATTER, KINDS };

/* The ranks of a process set. */
struct members {
    int set;
    int ranks[MEMBERS_MAX], count;
};

struct step {
    enum kind kind;
    enum hvd_dtype dtype;
    enum hvd_op op; /* ALLREDUCE and REDUCESCATTER */
    int64_t rows, width;
    int root;      /* BROADCAST: a rank of the world */
    unsigned salt; /* makes values and shares differ */
    const struct members *members;
    int odd_rank; /* wants something else; -1: nobody does */
    char name[16];
};

struct plan {
    struct step steps[STEPS_MAX];
    int count;
};

/* `sets` are those that there are, the world first. */
void plan_make(struct plan *plan, uint64_t seed, int number, const struct members *sets, int nsets);

/* What the odd rank wants instead. */
struct step plan_odd_step(const struct step *step);

/* Element `i` of the input of a rank: whole, and small enough that any reduction is exact. */
double step_value(const struct step *step, int rank, size_t i);

/* ALLGATHER: the rows of a rank. ALLTOALL: how many it sends to member `index`, and those that it
 * has. Others: the rows that there are. */
int64_t step_split(const struct step *step, int rank, int index);
int64_t step_rows(const struct step *step, int rank);

#endif
