/* SPDX-License-Identifier: Apache-2.0 */
/* One end of a tunnel: carries the bytes of a descriptor over a frame link as TUNNEL_DATA, and
 * those that come from there to the descriptor. hvdrun has one end of each tunnel, and the agent
 * that runs the command has the other; both work alike.
 *
 *   descriptor - tunnel_end - frame link ... frame link - tunnel_end - descriptor
 *
 * An end sends no more than the other has credit for, and gives credit once bytes have been written
 * to its descriptor. A reader that stops therefore stops its writer, and nothing else on the link.
 *
 * When the descriptor ends, or fails, its end is reported once. Bytes for a descriptor that cannot
 * be written are dropped. */
#ifndef LAUNCHER_TREE_TUNNEL_END_H
#define LAUNCHER_TREE_TUNNEL_END_H

#include "launcher/protocol/agent_protocol.h"
#include "launcher/protocol/frame_link.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

struct tunnel_end {
    struct frame_link *link; /* borrowed; NULL: nothing is sent any more */
    uint32_t number;         /* of the tunnel on that link */
    size_t queue_max;        /* nothing is read while more bytes wait on the link; 0: no limit */
    uv_pipe_t pipe;
    uint32_t may_send; /* bytes */
    uint32_t may_come; /* likewise, by the other end */
    uint32_t untold;   /* bytes that were written and for which no credit has been given yet */
    int nwrites;       /* under way */
    bool reading, input_ended, finishing, closing;
    void (*on_input_end)(void *context);
    void (*on_closed)(void *context);
    void *context;
};

/* Takes `fd`, also on failure. tunnel_end_close() must follow in either case. */
int tunnel_end_open(struct tunnel_end *end, uv_loop_t *loop, int fd, struct frame_link *link,
                    uint32_t number, struct err *err);

/* Begins to read; and goes on after the link was full. */
void tunnel_end_read(struct tunnel_end *end);

/* Bytes, and credit, from the other end. HVD_ERR_PROTOCOL if they are more than was agreed. */
int tunnel_end_take(struct tunnel_end *end, const void *data, size_t length, struct err *err);
int tunnel_end_credit(struct tunnel_end *end, uint32_t nbytes, struct err *err);

/* Bytes of our own, which go to the descriptor behind all that has come. They take no credit. */
void tunnel_end_put(struct tunnel_end *end, const void *data, size_t length);

/* Bytes for the descriptor that its reader has not taken yet. */
size_t tunnel_end_queued(const struct tunnel_end *end);

/* Closes the descriptor: at once, or when all that has come is written. `on_closed` is called once
 * `end` may be freed; it may be NULL. */
void tunnel_end_close(struct tunnel_end *end, void (*on_closed)(void *context));
void tunnel_end_finish(struct tunnel_end *end, void (*on_closed)(void *context));

#endif
