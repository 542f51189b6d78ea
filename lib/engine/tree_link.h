/* SPDX-License-Identifier: Apache-2.0 */
/* A link of a process set's tree: frames (lib/base/frame.h) both ways; sending and receiving do not
 * block.
 *
 *   REPORT    up    what is ready below (lib/negotiation)
 *   DECISION  down  what is done now; passed on as it is
 *   LEFT      both  a rank has left: its end (lib/base/rank_end.h). Up it is only passed on; a LEFT
 *                   down, after all decisions that can still be carried out, ends the set
 *   BROKEN    both  the world is broken: the end that has broken it; passed on to all ranks
 *   ALERT, PROBE, PROBED  of the stall inspector (stall.h)
 *   WHERE     down  where are you all? (address_exchange.c); in the world alone, as are its answers
 *   RECORDS   up    where the ranks below are, in order of rank: for each i32 rank, string host,
 *                   and its addresses as in lib/base/join_protocol.h
 *   DIRECTORY down  the same of all ranks
 *   STEADY    each to each  commits to an operation of a steady state (steady.h): u32 epoch, u32
 *                   number, u32 digest of what the sender takes the operation for, and its data
 *   UNSTEADY  each to each  leaves a steady state: u32 epoch, u32 number of operations
 *   SENT      each to each  commits like STEADY, with as much data as is moved over data links
 *                   otherwise, and what is for the receiver alone: u32 epoch, u32 number, u32
 *                   digest, u64 number of rows, and the data
 *   SOCKETS   up    two ranks of one host do not share memory: a link between them is a socket
 *
 * Frames over a network carry sums: a byte that is corrupted on the way must neither make a rank
 * wait for bytes that never come, nor become part of a small result. The data of SENT have none, as
 * data on data links (channel.h).
 *
 * Fails with HVD_ERR_PEER_LOST, naming the rank, when the link ends, with HVD_ERR_PROTOCOL on bytes
 * that are no frame, and with HVD_ERR_NOMEM. */
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
    TREE_PROBED,
    TREE_WHERE,
    TREE_RECORDS,
    TREE_DIRECTORY,
    TREE_STEADY,
    TREE_UNSTEADY,
    TREE_SENT = FRAME_WITH_DATA | (TREE_UNSTEADY + 1),
    TREE_SOCKETS = TREE_UNSTEADY + 2
};

enum { TREE_BODY_MAX = 64 << 20 };

struct tree_link {
    struct link *link; /* owned; NULL before it is made and after it has ended */
    int rank;          /* of the world */
    struct frame_reader reader;
    struct wire_writer out; /* out.data[sent, out.length) has to be sent */
    size_t sent;
    bool is_mute; /* the peer accepts no bytes any more */
};

void tree_link_init(struct tree_link *tree, struct link *link, int rank);
void tree_link_fini(struct tree_link *tree);

/* Appends a frame to the output; an ended link drops it. */
void tree_link_put(struct tree_link *tree, enum tree_frame type, const void *body, size_t nbytes);

/* Like tree_link_put() in two steps: the caller appends the body to tree->out between them. */
size_t tree_link_begin(struct tree_link *tree, enum tree_frame type);
void tree_link_end(struct tree_link *tree, size_t begin);

/* Like tree_link_put(), of a body in parts; sends what the link takes at once without a copy, if
 * the frame carries no sum, or is a TREE_SENT, whose head has FRAME_SUMMED_HEAD bytes. */
void tree_link_put_parts(struct tree_link *tree, enum tree_frame type, const void *head,
                         size_t head_size, const void *body, size_t nbytes);

/* Sends what can be sent at once. 1 if something was sent, 0 if not, or a negative status. When the
 * peer is gone, tree_link_receive() reports this, after the frames that the peer sent before. */
int tree_link_send(struct tree_link *tree, struct err *err);

/* Receives once. 1 if something came (then call tree_link_next() until it returns 0), 0 if nothing
 * is there, or a negative status. */
int tree_link_receive(struct tree_link *tree, struct err *err);
int tree_link_next(struct tree_link *tree, struct frame *frame, struct err *err);

/* False while something is to be sent, or when there was no memory to queue a frame. */
static inline bool tree_link_flushed(const struct tree_link *tree)
{
    return !tree->link || (tree->sent == tree->out.length && !tree->out.failed);
}

#endif
