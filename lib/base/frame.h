/* SPDX-License-Identifier: Apache-2.0 */
/* Frames: the layout of messages in a byte stream, on an agent link and on a worker's connection to
 * the rendezvous.
 *
 *   0 magic "HVD1"   4 type u16   6 flags u16, zero   8 body length u32   12 body
 *
 * On a link without proofs (auth.h), frames may carry sums (checksum.h): the sum of the header
 * stands in place of the flags, and the sum of the body in the last 4 bytes of the body. Types with
 * the bit FRAME_DATA carry much data behind the first FRAME_DATA_HEAD bytes of the body, and only
 * these bytes are summed: a sum takes as long as sending the data does.
 *
 * Fails (HVD_ERR_PROTOCOL, naming what was wrong) on another magic, flags that are not zero, a body
 * longer than the reader's limit (before memory for the body is allocated), or a wrong sum. */
#ifndef LIB_BASE_FRAME_H
#define LIB_BASE_FRAME_H

#include "lib/base/status.h"
#include "lib/base/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_HEADER_SIZE = 12, FRAME_BODY_MAX = 1 << 20, FRAME_SUM_SIZE = 4 };
enum { FRAME_DATA = 0x4000, FRAME_DATA_HEAD = 20 };

struct frame {
    uint16_t type;
    uint32_t length;           /* of the body */
    const unsigned char *body; /* borrowed from the reader until its next call */
};

/* Writes the 12 bytes of a header. */
void frame_header_encode(unsigned char header[FRAME_HEADER_SIZE], uint16_t type, uint32_t length);

/* Appends a whole frame. */
void frame_put(struct wire_writer *writer, uint16_t type, const void *body, size_t length);

/* Appends a header whose length is not known yet; frame_end() fills the length in. Returns the
 * argument for frame_end(). */
size_t frame_begin(struct wire_writer *writer, uint16_t type);
void frame_end(struct wire_writer *writer, size_t begin);

/* Like frame_end(), with sums. */
void frame_end_summed(struct wire_writer *writer, size_t begin);

/* The same for a frame whose parts are sent from where they lie: the header of a body of `length`
 * bytes and the sum, and the sum, which goes behind the body. `head` is what is summed. */
void frame_header_encode_summed(unsigned char header[FRAME_HEADER_SIZE], uint16_t type,
                                uint32_t length);
void frame_sum_encode(unsigned char sum[FRAME_SUM_SIZE], const void *head, size_t nbytes);

/* Cuts a byte stream into frames. Bytes are received straight into the reader:
 *   space = frame_reader_space(r, &n); n = read(fd, space, n); frame_reader_commit(r, n);
 *   while ((rc = frame_reader_next(r, &frame, &err)) > 0) handle(&frame);  */
struct frame_reader {
    unsigned char *data; /* owned */
    size_t start, end;   /* unread bytes: data[start, end) */
    size_t capacity;
    size_t body_max; /* a sum is part of the body */
    bool is_summed;  /* frames must have sums, which are taken off; the caller's to set */
    bool secret;     /* consumed, outgrown and freed bytes are wiped; the caller sets it */
};

/* `body_max` may be changed later (r->body_max), for instance once the peer is known. */
void frame_reader_init(struct frame_reader *reader, size_t body_max);
void frame_reader_fini(struct frame_reader *reader);

/* Room for at least one byte; `*size` is its size. NULL when out of memory. Invalidates frames that
 * were returned before. */
void *frame_reader_space(struct frame_reader *reader, size_t *size);
void frame_reader_commit(struct frame_reader *reader, size_t nbytes);

/* 1 and a frame; 0 if more bytes are needed; a negative status if the stream is broken. */
int frame_reader_next(struct frame_reader *reader, struct frame *frame, struct err *err);

#endif
