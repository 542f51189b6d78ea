/* SPDX-License-Identifier: Apache-2.0 */
/* How the ranks that a process manager has started (lib/pmi) find each other:
 *
 *   rank 0    opens a port, starts the rendezvous (lib/serve), and publishes its addresses and a
 *             fresh key
 *   others    get these from the process manager
 *   all       join at that rendezvous, as under hvdrun; rank 0 too
 *
 * When HVD_JOB_KEY is set on all ranks, that is the key, and only addresses are published. A job on
 * one host, as far as the process manager tells, listens on loopback alone.
 *
 * Fails as the process manager does (process_manager.h), and when rank 0 cannot open its port, of
 * which the others learn, or some rank does not come in time. */
#ifndef LIB_JOIN_MANAGER_JOIN_H
#define LIB_JOIN_MANAGER_JOIN_H

#include "lib/join/bootstrap.h"

int manager_join(struct rank_assignment *assignment, const struct environment *environment,
                 struct err *err);

#endif
