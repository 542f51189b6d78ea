/* SPDX-License-Identifier: Apache-2.0 */
/* Links up with the two neighbours: dials the right one while the left one is accepted, and keeps
 * an ear on the rendezvous.
 * Fails when a rank is lost meanwhile, the launcher ends, the right neighbour does not know the
 * job's key, or the two links have not come up within 30 seconds. Strangers do no harm. */
#ifndef LIB_RING_CONNECT_H
#define LIB_RING_CONNECT_H

#include "lib/join/bootstrap.h"
#include "lib/join/failure.h"
#include "lib/ring.h"

/* Fills in `ring`, for ring_fini(). In a world of one there is nothing to connect. On failure there
 * is nothing to undo. News that does not prevent the links is recorded in `failure`. */
int ring_connect(struct ring *ring, struct seat *seat, struct failure *failure, struct err *err);

#endif
