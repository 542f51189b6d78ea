/* SPDX-License-Identifier: Apache-2.0 */
/* The progress of a vector that several readers get; see linear_flow.h. Cannot fail. */
#include "lib/collective/linear_flow.h"

#include "lib/base/min.h"
#include "lib/memory/copy.h"

#include <string.h>

void linear_flow_begin(struct linear_flow *flow)
{
    flow->copied = flow->buffer ? 0 : flow->nbytes;
    flow->left = flow->nbytes * (size_t)flow->readers;
    memset(flow->sent, 0, (size_t)flow->readers * sizeof *flow->sent);
}

static size_t least_sent(const struct linear_flow *flow)
{
    size_t least = flow->nbytes;
    for (int i = 0; i < flow->readers; i++)
        least = size_min(least, flow->sent[i]);
    return least;
}

/* The length of the next piece; 0 after the last. */
static size_t next_piece(const struct linear_flow *flow)
{
    size_t rest = flow->nbytes - flow->copied;
    return rest < 2 * LINEAR_PIECE ? rest : LINEAR_PIECE;
}

static void copy_around(struct linear_flow *flow, size_t nbytes)
{
    while (nbytes > 0) {
        size_t at = flow->copied % flow->size, some = size_min(nbytes, flow->size - at);
        if (flow->far)
            copy_streaming(flow->buffer + at, flow->data + flow->copied, some);
        else
            copy_cached(flow->buffer + at, flow->data + flow->copied, some);
        flow->copied += some;
        nbytes -= some;
    }
}

const void *linear_flow_output(struct linear_flow *flow, int reader, size_t ahead, size_t *nbytes)
{
    size_t start = flow->sent[reader] + ahead, piece = next_piece(flow);
    if (start == flow->copied && piece > 0 && start + piece - least_sent(flow) <= flow->size)
        copy_around(flow, piece);
    *nbytes = flow->copied - start;
    if (*nbytes == 0)
        return NULL;
    if (!flow->buffer)
        return flow->data + start;
    *nbytes = size_min(*nbytes, flow->size - start % flow->size);
    return flow->buffer + start % flow->size;
}

void linear_flow_sent(struct linear_flow *flow, int reader, size_t nbytes)
{
    flow->sent[reader] += nbytes;
    flow->left -= nbytes;
}
