/* SPDX-License-Identifier: Apache-2.0 */
/* A vector that one rank sends to several readers. Bytes in, bytes out; no link, no thread.
 *
 * With a buffer, the vector is copied into it once, and every reader gets the bytes from there:
 *
 *   copied, but not sent to all   the readers may read these bytes in place
 *   sent to all                   the place is free, and the next pieces of the vector go there
 *
 * The buffer may be smaller than the vector, and is then used around: the slowest reader holds up
 * the copying, and so the others. A piece is copied when a reader has got all pieces before it.
 *
 * If a reader is far, the copy bypasses the caches (copy.h), since an ordinary store takes back
 * each line from the processors that have read the place: 1 MiB of 4 ranks took 550 us instead of
 * 180 to 210. Near readers find ordinary stores in a cache: 190 us instead of 240.
 *
 * Without a buffer the readers get the vector itself. */
#ifndef LIB_COLLECTIVE_LINEAR_FLOW_H
#define LIB_COLLECTIVE_LINEAR_FLOW_H

#include <stdbool.h>
#include <stddef.h>

/* A link lets its peer read in place what has at least so many bytes (shm_method.h). So the last
 * piece, which has the rest, has as many or more, unless the vector is shorter.
 *
 * A vector that is less than a piece longer than whole buffers is different: the end of the buffer
 * cuts its last piece, and the link copies what lies at the front for each reader (of 548 KiB and a
 * buffer of 512 KiB, 36 KiB). This is on purpose: it is less than a piece, and so the place of a
 * byte depends on nothing but its offset in the vector. */
enum { LINEAR_PIECE = 64 * 1024 };

struct linear_flow {
    const unsigned char *data; /* borrowed, `nbytes` of them */
    size_t nbytes;
    unsigned char *buffer; /* borrowed; NULL: none */
    size_t size;           /* of the buffer: whole pieces, at least two */
    bool far;              /* some readers are */
    size_t copied;         /* bytes of the vector, from the front; without a buffer all */
    size_t *sent;          /* to each reader, of `readers`; borrowed */
    int readers;
    size_t left; /* bytes that are not sent yet, of all readers */
};

/* Everything but `copied`, `left` and the contents of `sent` has been filled in. */
void linear_flow_begin(struct linear_flow *flow);

/* Like the members of operation.h, for one reader. */
const void *linear_flow_output(struct linear_flow *flow, int reader, size_t ahead, size_t *nbytes);
void linear_flow_sent(struct linear_flow *flow, int reader, size_t nbytes);

static inline bool linear_flow_done(const struct linear_flow *flow)
{
    return flow->left == 0;
}

#endif
