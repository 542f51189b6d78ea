/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce on several hosts with several ranks each: every rank reduces its share of the vector
 * inside its host, shares are reduced between hosts, one rank of each host for every segment of the
 * vector (two_level_schedule.h), and given to all inside the host. All ranks, and what connects
 * their hosts, have a part in it, and over a network goes no more than around a ring.
 *
 * Both levels are groups (direct_flow.h), and work at the same time: what has been reduced inside
 * goes out between hosts, and what comes back is given to all, while the rest is on its way. Every
 * element is combined in the order of ranks in each host, then of hosts, by one rank in each level:
 * so all ranks get the same bits, in every run.
 *
 * Fails to start with HVD_ERR_NOMEM, then with HVD_ERR_PROTOCOL when bytes come that nobody
 * awaits. */
#ifndef LIB_COLLECTIVE_TWO_LEVEL_H
#define LIB_COLLECTIVE_TWO_LEVEL_H

#include "lib/collective/operation.h"
#include "lib/collective/two_level_schedule.h"

struct operation *allreduce_two_level_start(struct operation_store *store,
                                            const struct operation_task *task, struct err *err);

#endif
