/* SPDX-License-Identifier: Apache-2.0 */
/* Alltoall: every pair of ranks at once. To each peer go
 *
 *   0 number of rows i64   8 rows
 *
 * Where rows belong is known when all numbers have come; until then rows wait in the links. The
 * numbers themselves never wait: on every link an operation's come before anything of a later one.
 *
 * Fails with HVD_ERR_PROTOCOL, naming the rank of the set, when a number is negative or the output
 * would be larger than memory can be, and with HVD_ERR_NOMEM. */
#ifndef LIB_COLLECTIVE_ALLTOALL_PAIRWISE_H
#define LIB_COLLECTIVE_ALLTOALL_PAIRWISE_H

#include "lib/collective/operation.h"

struct operation *alltoall_pairwise_start(struct operation_store *store,
                                          const struct operation_task *task, struct err *err);

#endif
