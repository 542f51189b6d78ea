/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcast in which the root sends to each other rank itself. For ranks that share memory: the
 * root copies its data once, to memory that all of them read in place (linear_flow.h). Over sockets
 * it is right, but slow: the root sends as many copies as there are other ranks. Fails to start
 * with HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_BROADCAST_LINEAR_H
#define LIB_COLLECTIVE_BROADCAST_LINEAR_H

#include "lib/collective/operation.h"

struct operation *broadcast_linear_start(struct operation_store *store,
                                         const struct operation_task *task, struct err *err);

/* The root has all other ranks as peers, they have the root; `peers` has room for size - 1. Returns
 * how many. */
int broadcast_linear_peers(int rank, int size, int root, int *peers);

#endif
