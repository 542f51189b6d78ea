/* SPDX-License-Identifier: Apache-2.0 */
/* Allreduce on several hosts with several ranks each. Every rank reduces its share of the vector
 * inside its host. Then shares are reduced between hosts, with one rank of each host for every
 * segment of the vector (two_level_schedule.h). Then each rank sends its share to all ranks of its
 * host. All ranks and all links between hosts take part, and the network carries no more bytes than
 * in a ring.
 *
 * Both levels are groups (direct_flow.h), and work at the same time: parts that are reduced inside
 * the host go out between hosts, and parts that come back go to all ranks of the host, while the
 * rest is on its way. One rank in each level combines an element, in the order of ranks in each
 * host, then of hosts. So all ranks get the same bits, in every run.
 *
 * Fails to start with HVD_ERR_NOMEM, and later with HVD_ERR_PROTOCOL on unexpected bytes. */
#ifndef LIB_COLLECTIVE_TWO_LEVEL_H
#define LIB_COLLECTIVE_TWO_LEVEL_H

#include "lib/collective/operation.h"
#include "lib/collective/two_level_schedule.h"

struct operation *allreduce_two_level_start(struct operation_store *store,
                                            const struct operation_task *task, struct err *err);

#endif
