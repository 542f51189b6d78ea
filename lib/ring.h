/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's part of the ring: its two links, and moving a collective over them. Data comes from the
 * left and goes to the right; the other direction of each link is for notices (notice.h). */
#ifndef LIB_RING_H
#define LIB_RING_H

#include "lib/base/join_protocol.h"
#include "lib/collective.h"
#include "lib/link/link.h"

struct ring_neighbour {
    struct link *link; /* owned; NULL in a world of one */
    int rank;
    char host[JOIN_HOST_MAX];
};

struct ring {
    int rank, size;
    struct ring_neighbour left, right;
    void *staging; /* owned; RING_SEGMENT bytes, NULL in a world of one */
};

/* Sends and receives what can be moved at once, one segment each way. 1 if something moved, 0 if
 * nothing could, or a negative status; a broken link is HVD_ERR_PEER_LOST and names the neighbour.
 */
int ring_move(struct ring *ring, struct collective *collective, struct err *err);

/* Puts "connection to rank 1 on HOST broke: " before a link's error. */
int ring_broke(const struct ring_neighbour *neighbour, struct err *err);

/* Closes the links and frees the staging. */
void ring_fini(struct ring *ring);

#endif
