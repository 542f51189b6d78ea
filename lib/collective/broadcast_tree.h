/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast along a binomial tree (tree_schedule.h). A rank passes data from its parent on at once,
 * piece by piece. Good for small data, and for many ranks: it takes log2 steps, but the root sends
 * log2 copies one after the other. Fails to start with HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_BROADCAST_TREE_H
#define LIB_COLLECTIVE_BROADCAST_TREE_H

#include "lib/collective/operation.h"
#include "lib/collective/tree_schedule.h"

struct operation *broadcast_tree_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err);

#endif
