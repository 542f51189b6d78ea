/* SPDX-License-Identifier: Apache-2.0 */
/* A limit on the bytes stored for clients, for all jobs together, so that the clients of one job
 * cannot use up the memory of other jobs. Bytes return to the budget when they are no longer
 * stored. */
#ifndef RENDEZVOUS_BASE_MEMORY_BUDGET_H
#define RENDEZVOUS_BASE_MEMORY_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct memory_budget {
    size_t max; /* 0: no limit */
    size_t used;
};

static inline size_t memory_budget_left(const struct memory_budget *budget)
{
    if (budget->max == 0)
        return SIZE_MAX - budget->used;
    return budget->max > budget->used ? budget->max - budget->used : 0;
}

/* Returns false, and takes nothing, if less is left. */
static inline bool memory_budget_take(struct memory_budget *budget, size_t nbytes)
{
    if (nbytes > memory_budget_left(budget))
        return false;
    budget->used += nbytes;
    return true;
}

static inline void memory_budget_give(struct memory_budget *budget, size_t nbytes)
{
    budget->used -= nbytes;
}

#endif
