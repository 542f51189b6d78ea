/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce along a binomial tree (tree_schedule.h) whose root is rank 0: sums go up, results go
 * down, piece by piece. Each rank but the root sends its vector once and receives one; no other
 * algorithm takes fewer messages, or copies fewer bytes in all. But only two or three ranks work at
 * a time, which is enough where many ranks share few processors. Fails to start with
 * HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_ALLREDUCE_TREE_H
#define LIB_COLLECTIVE_ALLREDUCE_TREE_H

#include "lib/collective/operation.h"

struct operation *allreduce_tree_start(struct operation_store *store,
                                       const struct operation_task *task, struct err *err);

#endif
