/* SPDX-License-Identifier: Apache-2.0 */
/* The progress that all ring collectives share. Bytes in, bytes out; no link, no thread.
 *
 * In each step a rank sends one chunk to the right and receives one from the left; the chunk that
 * it sends at step k + 1 is the chunk that it received at step k. So there is one rule: a step may
 * send as many bytes of its chunk as the step before has received. Sending, receiving and combining
 * overlap by themselves, in segments that stay in the cache.
 *
 * A flow can always take incoming data, whatever has been sent. A flow that waited for room would
 * hold up the operations that share its link, which would hold it up in turn, around the ring. */
#ifndef LIB_COLLECTIVE_RING_FLOW_H
#define LIB_COLLECTIVE_RING_FLOW_H

#include "lib/collective/operation.h"

#include <stdbool.h>
#include <stddef.h>

/* Steps [step, end) are still to be done. The chunk of the next step is the previous one around the
 * ring. */
struct ring_cursor {
    int step, end;
    int chunk;
    size_t done; /* bytes of the chunk */
};

/* The first `steps` incoming steps combine own operands with incoming data; none if 0. */
struct ring_reduction {
    int steps;
    const unsigned char *own;
    unsigned char *result; /* where the chunk of the last of these steps goes */
    size_t element_size;
    reduce_fn *reduce;
    divide_fn *divide; /* in the last of these steps, by `divisor`; NULL unless an average */
    int divisor;
    struct thread_pool *pool; /* may be NULL */
    unsigned char *staging;   /* OPERATION_STAGING bytes for data that waits to be combined */
};

/* Memory is borrowed. Chunk c is the bytes [bounds[c], bounds[c + 1]) of each. */
struct ring_flow {
    const size_t *bounds;
    int chunks;
    const unsigned char *first; /* the source of step 0; later steps send from `memory` */
    unsigned char *memory;      /* the place of incoming chunks */
    struct ring_reduction reduction;
    struct ring_cursor out, in;
    size_t staged; /* bytes in the staging: less than an element between calls */
};

/* Everything but `staged` has been filled in. */
void ring_flow_begin(struct ring_flow *flow);

/* The data to send behind the next `ahead` bytes, which are on their way (`*nbytes` may be 0); and
 * the report that so many bytes were sent. */
const void *ring_flow_output(const struct ring_flow *flow, size_t ahead, size_t *nbytes);
void ring_flow_sent(struct ring_flow *flow, size_t nbytes);

/* The place of the next incoming bytes; `*nbytes` is 0 when nothing is awaited. The second function
 * reports how many came. */
void *ring_flow_space(const struct ring_flow *flow, size_t *nbytes);
void ring_flow_received(struct ring_flow *flow, size_t nbytes);

/* Combines incoming data in place, in whole elements; returns how many bytes, 0 when they have to
 * go to the space. */
size_t ring_flow_take(struct ring_flow *flow, const void *data, size_t nbytes);

bool ring_flow_done(const struct ring_flow *flow);

#endif
