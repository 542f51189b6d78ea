/* SPDX-License-Identifier: Apache-2.0 */
/* Where the frames of a byte stream end (lib/base/frame.h). It keeps no body, so a program that
 * passes the stream on can put a frame of its own between two others. Fails on bytes that are no
 * frame, and on a body longer than FRAME_BODY_MAX. */
#ifndef LAUNCHER_TREE_FRAME_BOUNDARY_H
#define LAUNCHER_TREE_FRAME_BOUNDARY_H

#include "lib/base/frame.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A stream begins with all zero, between two frames. */
struct frame_boundary {
    unsigned char header[FRAME_HEADER_SIZE];
    size_t nheader; /* bytes of it that have passed */
    uint32_t left;  /* of the body */
};

/* Between two frames? */
bool frame_boundary_is_here(const struct frame_boundary *boundary);

/* `length` bytes come, at least one. Passes those up to the next boundary, or all if none is
 * reached, and sets `*npassed` to their number. HVD_ERR_PROTOCOL if they are no frames. */
int frame_boundary_pass(struct frame_boundary *boundary, const void *data, size_t length,
                        size_t *npassed, struct err *err);

#endif
