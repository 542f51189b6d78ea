/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast along a binomial tree (tree_schedule.h): what has come from above is passed on at once,
 * piece by piece. Good for what is small, and for many ranks: log2 steps, but as many copies leave
 * the root, one behind the other. Fails to start with HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_BROADCAST_TREE_H
#define LIB_COLLECTIVE_BROADCAST_TREE_H

#include "lib/collective/operation.h"
#include "lib/collective/tree_schedule.h"

struct operation *broadcast_tree_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err);

#endif
