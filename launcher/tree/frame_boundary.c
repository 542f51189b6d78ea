/* SPDX-License-Identifier: Apache-2.0 */
/* The boundaries of frames; see frame_boundary.h. */
#include "launcher/tree/frame_boundary.h"

#include "lib/base/wire.h"

#include <string.h>

bool frame_boundary_is_here(const struct frame_boundary *boundary)
{
    return boundary->nheader == 0 && boundary->left == 0;
}

/* The header is complete: the body follows. */
static int frame_boundary_read_header(struct frame_boundary *boundary, struct err *err)
{
    unsigned char expected[FRAME_HEADER_SIZE];
    struct wire_reader reader;
    wire_reader_init(&reader, boundary->header + 4, FRAME_HEADER_SIZE - 4);
    uint16_t type = wire_get_u16(&reader);
    wire_get_u16(&reader);
    uint32_t length = wire_get_u32(&reader);
    frame_header_encode(expected, type, length);
    if (memcmp(boundary->header, expected, sizeof expected) != 0 || length > FRAME_BODY_MAX)
        return fail(err, HVD_ERR_PROTOCOL, "what goes through a tunnel is no frame");
    boundary->nheader = 0;
    boundary->left = length;
    return HVD_OK;
}

int frame_boundary_pass(struct frame_boundary *boundary, const void *data, size_t length,
                        size_t *npassed, struct err *err)
{
    size_t at = 0;
    int rc = HVD_OK;
    if (boundary->left == 0) {
        size_t missing = FRAME_HEADER_SIZE - boundary->nheader;
        at = length < missing ? length : missing;
        if (at > 0)
            memcpy(boundary->header + boundary->nheader, data, at);
        boundary->nheader += at;
        if (boundary->nheader == FRAME_HEADER_SIZE)
            rc = frame_boundary_read_header(boundary, err);
    }
    size_t body = length - at < boundary->left ? length - at : boundary->left;
    boundary->left -= (uint32_t)body;
    *npassed = at + body;
    return rc;
}
