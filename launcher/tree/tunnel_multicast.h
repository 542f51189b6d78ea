/* SPDX-License-Identifier: Apache-2.0 */
/* What an agent writes into a tunnel to the agent of a host below it: the frames that hvdrun sends
 * to that host, and those that hvdrun sends to many (MULTICAST), which the agent puts between them.
 *
 *   hvdrun's bytes   ----- frame ----- | ----- frame --     put: MULTICAST waits
 *                                                      --- | MULTICAST | ----- frame -----
 *
 * A frame that is put comes before every frame of hvdrun that has not begun. Fails when hvdrun's
 * bytes are no frames, and when the host does not read. */
#ifndef LAUNCHER_TREE_TUNNEL_MULTICAST_H
#define LAUNCHER_TREE_TUNNEL_MULTICAST_H

#include "launcher/tree/frame_boundary.h"
#include "launcher/tree/tunnel_end.h"
#include "lib/base/wire.h"

/* Bytes that a host may leave unread before it is cut off, besides the TUNNEL_WINDOW of hvdrun's
 * bytes: more than three thousand SIGNALs. */
enum { TUNNEL_MULTICAST_MAX = 64 * 1024 };

/* All zero at first: hvdrun has sent no byte of a frame. */
struct tunnel_multicast {
    struct frame_boundary boundary;
    struct wire_writer held; /* whole frames, while hvdrun is in the middle of one */
};

/* Bytes of hvdrun. HVD_ERR_PROTOCOL if they are more than there is credit for, or no frames. */
int tunnel_multicast_take(struct tunnel_multicast *multicast, struct tunnel_end *end,
                          const void *data, size_t length, struct err *err);

/* A whole frame. False: nothing was put, because the host does not read or memory is short. */
bool tunnel_multicast_put(struct tunnel_multicast *multicast, struct tunnel_end *end,
                          const void *frame, size_t length);
void tunnel_multicast_fini(struct tunnel_multicast *multicast);

#endif
