/* SPDX-License-Identifier: Apache-2.0 */
/* Frames between frames; see tunnel_multicast.h. */
#include "launcher/tree/tunnel_multicast.h"

static void tunnel_multicast_release(struct tunnel_multicast *multicast, struct tunnel_end *end)
{
    if (multicast->held.length == 0 || !frame_boundary_is_here(&multicast->boundary))
        return;
    tunnel_end_put(end, multicast->held.data, multicast->held.length);
    multicast->held.length = 0;
}

int tunnel_multicast_take(struct tunnel_multicast *multicast, struct tunnel_end *end,
                          const void *data, size_t length, struct err *err)
{
    const char *at = data;
    size_t together = 0; /* bytes that can go in one write */
    while (together < length) {
        size_t n;
        int rc =
            frame_boundary_pass(&multicast->boundary, at + together, length - together, &n, err);
        if (rc < 0)
            return rc;
        together += n;
        if (multicast->held.length == 0)
            continue;
        if ((rc = tunnel_end_take(end, at, together, err)) < 0)
            return rc;
        tunnel_multicast_release(multicast, end);
        at += together;
        length -= together;
        together = 0;
    }
    return together > 0 ? tunnel_end_take(end, at, together, err) : HVD_OK;
}

bool tunnel_multicast_put(struct tunnel_multicast *multicast, struct tunnel_end *end,
                          const void *frame, size_t length)
{
    struct wire_writer *held = &multicast->held;
    if (tunnel_end_queued(end) + held->length + length > TUNNEL_WINDOW + TUNNEL_MULTICAST_MAX)
        return false;
    wire_put_bytes(held, frame, length);
    if (held->failed)
        return false;
    tunnel_multicast_release(multicast, end);
    return true;
}

void tunnel_multicast_fini(struct tunnel_multicast *multicast)
{
    wire_writer_fini(&multicast->held);
}
