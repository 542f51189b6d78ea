/* SPDX-License-Identifier: Apache-2.0 */
/* Alltoall: all pairs of ranks exchange at the same time. Each rank sends to each peer
 *
 *   0 number of rows i64   8 rows
 *
 * or, if all ranks know all numbers from the start, only the rows.
 *
 * The place of rows is known when the numbers of all peers have come; until then rows wait in the
 * links. The numbers themselves never wait: on every link an operation's number comes before any
 * data of a later operation.
 *
 * Fails with HVD_ERR_PROTOCOL, naming the rank of the set, when a number is negative or the output
 * would be larger than memory can be, and with HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_ALLTOALL_PAIRWISE_H
#define LIB_COLLECTIVE_ALLTOALL_PAIRWISE_H

#include "lib/collective/operation.h"

struct operation *alltoall_pairwise_start(struct operation_store *store,
                                          const struct operation_task *task, struct err *err);

#endif
