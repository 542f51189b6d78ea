/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives in which every rank owns a share and exchanges bytes with every other rank; see
 * direct_flow.h. They fail to start with HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_DIRECT_H
#define LIB_COLLECTIVE_DIRECT_H

#include "lib/collective/direct_schedule.h"
#include "lib/collective/operation.h"

struct operation *allreduce_direct_start(struct operation_store *store,
                                         const struct operation_task *task, struct err *err);
struct operation *reduce_scatter_direct_start(struct operation_store *store,
                                              const struct operation_task *task, struct err *err);
struct operation *allgather_direct_start(struct operation_store *store,
                                         const struct operation_task *task, struct err *err);

#endif
