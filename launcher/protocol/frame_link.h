/* SPDX-License-Identifier: Apache-2.0 */
/* A byte stream that carries frames, on a libuv loop: hvdrun's end of an agent link, and the
 * agent's.
 *
 * All frames that are sent in one iteration of the loop go out in one write, at the beginning of
 * the next. Frames that are sent while a write is under way gather and go out in the next write. */
#ifndef LAUNCHER_PROTOCOL_FRAME_LINK_H
#define LAUNCHER_PROTOCOL_FRAME_LINK_H

#include "lib/base/frame.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <uv.h>

struct frame_link_events {
    /* A frame has come; its body is borrowed for the call. A negative return value breaks the
     * link. */
    int (*on_frame)(void *context, const struct frame *frame, struct err *err);

    /* The link has ended, once: err->code is HVD_OK if the other side closed it. When the other
     * side stops reading, its frames are still handled for 2 s. Never called from inside
     * frame_link_send(). */
    void (*on_end)(void *context, const struct err *err);

    /* Everything that was sent has left this process. May be NULL. */
    void (*on_drained)(void *context);

    /* Bytes have come, perhaps of an incomplete frame. May be NULL. */
    void (*on_bytes)(void *context);
};

struct frame_link {
    uv_pipe_t input, output;
    uv_idle_t turn;     /* until the frames of this iteration of the loop are written */
    uv_timer_t ending;  /* until the end is reported after memory or the other side's reader has
                         * gone */
    uint64_t ending_ms; /* when `ending` is due */
    bool put_off;       /* once, because the loop was late */
    struct err why;     /* the cause of the end */
    uv_write_t write;
    struct frame_reader reader;
    struct wire_writer next;   /* gathers in a turn, and while `flying` is under way */
    struct wire_writer flying; /* owned by the write until it ends */
    size_t frame_begin;        /* of the frame that is being written into `next` */
    uint64_t flown;            /* bytes of all writes so far */
    struct frame_link_events events;
    void *context;
    void (*on_closed)(void *context);
    int open_handles;
    bool writing, ended, closing;
    bool reader_gone; /* the other side reads no more */
};

/* Takes both descriptors, which may be equal, also when it fails. frame_link_close() must follow in
 * either case. */
int frame_link_open(struct frame_link *link, uv_loop_t *loop, int input, int output,
                    const struct frame_link_events *events, void *context, struct err *err);

/* Write a body into the writer that frame_link_begin() returns, then frame_link_send() it. Frames
 * for a link that has ended, or is about to because memory ran out, are dropped. If the body holds
 * a key, set its `secret` first: the frame is wiped once it has been written. Received frames are
 * wiped after their handlers. */
struct wire_writer *frame_link_begin(struct frame_link *link, uint16_t type);
void frame_link_send(struct frame_link *link);

/* Writes now what was sent in this iteration of the loop, before more of it is made. */
void frame_link_hurry(struct frame_link *link);

/* Bytes that have not left this process yet. */
size_t frame_link_queued(const struct frame_link *link);

/* Bytes that have left this process since the link was opened; `waits`: bytes are queued because
 * the other side does not read. If so, the other side has read something when the next byte
 * leaves. */
uint64_t frame_link_written(const struct frame_link *link, bool *waits);

/* Writes what the other side takes at once of frames that were sent in this iteration of the loop,
 * and drops other queued bytes. `on_closed` may be NULL; `link` must stay until it has been
 * called. */
void frame_link_close(struct frame_link *link, void (*on_closed)(void *context));

#endif
