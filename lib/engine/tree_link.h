/* SPDX-License-Identifier: Apache-2.0 */
/* A link of a process set's tree: frames (lib/base/frame.h) both ways, none of them waited for.
 *
 *   REPORT    up    what is ready below (lib/negotiation)
 *   DECISION  down  what is done now; passed on as it is
 *   LEFT      both  a rank has left: i32 rank, of the world, i32 status, string text. Up it is only
 *                   passed on; what comes down, after all decisions that can still be carried out,
 *                   ends the set
 *   BROKEN    both  the world is broken, with the same body; passed on to everybody
 *   ALERT, PROBE, PROBED  of the stall inspector (stall.h)
 *
 * Fails with HVD_ERR_PEER_LOST, naming the rank, when the link ends, HVD_ERR_PROTOCOL on bytes that
 * are no frame, HVD_ERR_NOMEM. */
#ifndef LIB_ENGINE_TREE_LINK_H
#define LIB_ENGINE_TREE_LINK_H

#include "lib/base/frame.h"
#include "lib/base/join_protocol.h"
#include "lib/base/status.h"
#include "lib/link/link.h"

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum tree_frame {
    TREE_REPORT = 1,
    TREE_DECISION,
    TREE_LEFT,
    TREE_BROKEN,
    TREE_ALERT,
    TREE_PROBE,
    TREE_PROBED
};

enum { TREE_BODY_MAX = 64 << 20 };

struct tree_link {
    struct link *link; /* owned; NULL before it is there and after it has ended */
    int rank;          /* of the world */
    struct frame_reader reader;
    struct wire_writer out; /* out.data[sent, out.length) has to be sent */
    size_t sent;
};

void tree_link_init(struct tree_link *tree, struct link *link, int rank);
void tree_link_fini(struct tree_link *tree);

/* Appends a frame to what is to be sent; an ended link swallows it. */
void tree_link_put(struct tree_link *tree, enum tree_frame type, const void *body, size_t nbytes);

/* Sends what can be sent at once. 1 if something was, 0 if not, or a negative status. */
int tree_link_send(struct tree_link *tree, struct err *err);

/* Receives once. 1 if something came (then tree_link_next() until it says 0), 0 if nothing is
 * there, or a negative status. */
int tree_link_receive(struct tree_link *tree, struct err *err);
int tree_link_next(struct tree_link *tree, struct frame *frame, struct err *err);

bool tree_link_flushed(const struct tree_link *tree);

#endif
