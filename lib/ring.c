/* SPDX-License-Identifier: Apache-2.0 */
/* Moving a collective over links; see ring.h. */
#include "lib/ring.h"

#include <stdlib.h>

int ring_broke(const struct ring_neighbour *neighbour, struct err *err)
{
    return fail_context(err, "connection to rank %d on %s broke", neighbour->rank, neighbour->host);
}

static int send_some(struct ring *ring, struct collective *collective, struct err *err)
{
    struct iovec parts[2];
    int count = collective_output(collective, parts);
    if (count == 0)
        return 0;
    ssize_t nbytes = link_try_send(ring->right.link, parts, count, err);
    if (nbytes < 0)
        return ring_broke(&ring->right, err);
    if (nbytes == 0)
        return 0;
    collective_sent(collective, (size_t)nbytes);
    return 1;
}

static int receive_some(struct ring *ring, struct collective *collective, struct err *err)
{
    size_t size;
    void *space = collective_space(collective, &size);
    if (size == 0)
        return 0;
    ssize_t nbytes = link_try_receive(ring->left.link, space, size, err);
    if (nbytes < 0)
        return ring_broke(&ring->left, err);
    if (nbytes == 0)
        return 0;
    int rc = collective_received(collective, (size_t)nbytes, err);
    return rc < 0 ? rc : 1;
}

int ring_move(struct ring *ring, struct collective *collective, struct err *err)
{
    int sent = send_some(ring, collective, err);
    if (sent < 0)
        return sent;
    int received = receive_some(ring, collective, err);
    return received < 0 ? received : sent | received;
}

void ring_fini(struct ring *ring)
{
    link_close(ring->right.link);
    link_close(ring->left.link);
    free(ring->staging);
    ring->left.link = ring->right.link = NULL;
    ring->staging = NULL;
}
