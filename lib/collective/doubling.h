/* SPDX-License-Identifier: Apache-2.0 */
/* What recursive doubling and halving-doubling share. A rank has an exchange with the rank that is
 * folded into it, if there is one, and then one exchange for each level. A rank that is folded out
 * has only one exchange. See doubling_schedule.h. */
#ifndef LIB_COLLECTIVE_DOUBLING_H
#define LIB_COLLECTIVE_DOUBLING_H

#include "lib/collective/doubling_schedule.h"
#include "lib/collective/exchange.h"

struct doubling {
    struct exchange_operation base;
    struct exchange_flow flow;
    struct combiner combiner;
    const unsigned char *input;
    unsigned char *output;
    size_t count, nbytes;
    int rank, size, levels;
    int folds; /* 1 if exchange 0 is with a rank that is folded in, else 0; levels follow */
    struct exchange exchanges[];
};

static inline struct doubling *doubling_of(const struct exchange_flow *flow)
{
    return (struct doubling *)((char *)flow - offsetof(struct doubling, flow));
}

/* Fills in the peers of the exchanges, and what a fold exchange sends and awaits. NULL and `err`
 * when out of memory. */
struct doubling *doubling_create(struct operation_store *store, const struct operation_task *task,
                                 const struct operation_type *type,
                                 const struct exchange_rules *rules, struct err *err);

/* True if this rank has data to combine: it is not folded out, and the vector is not empty. If not,
 * everything has been filled in. */
bool doubling_combines(const struct doubling *doubling);

/* The level of exchange `index`; -1 for the fold. Whether it is the last one. */
int doubling_level(const struct doubling *doubling, int index);
bool doubling_is_last(const struct doubling *doubling, int index);

/* True if this rank's own data at exchange `index` is the left operand. */
bool doubling_is_left(const struct doubling *doubling, int index);

/* Allocates the scratch memory, if any. HVD_ERR_NOMEM: `doubling` has been given back. */
int doubling_allocate(struct doubling *doubling, size_t nbytes, struct err *err);

/* Begins when everything has been filled in. */
struct operation *doubling_begin(struct doubling *doubling);

/* Allreduce with whole vectors, in log2 steps. */
struct operation *allreduce_recursive_doubling_start(struct operation_store *store,
                                                     const struct operation_task *task,
                                                     struct err *err);

/* Allreduce: a reduce-scatter by halving, then an allgather by doubling. */
struct operation *allreduce_halving_doubling_start(struct operation_store *store,
                                                   const struct operation_task *task,
                                                   struct err *err);

#endif
