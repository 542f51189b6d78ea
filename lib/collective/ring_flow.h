/* SPDX-License-Identifier: Apache-2.0 */
/* The motion that all ring collectives share. Bytes in, bytes out; no link, no thread.
 *
 * In each step a rank sends one block of the output to the right and receives one from the left;
 * what goes out at step k + 1 is what came in at step k. So the one rule is: of a step's block, as
 * much may be sent as has been received in the step before. Sending, receiving and combining
 * overlap by themselves, in segments that stay in the cache.
 *
 * A collective is a ring_flow_type (which block, when) and a start function:
 * reduce_scatter_ring.c, allgather_ring.c, broadcast_ring.c. */
#ifndef LIB_COLLECTIVE_RING_FLOW_H
#define LIB_COLLECTIVE_RING_FLOW_H

#include "lib/reduce/reduce.h"

#include <stdbool.h>
#include <stddef.h>

enum { RING_SEGMENT = 256 * 1024 };

/* What is to be done, by whom. The memory is borrowed until the flow is done. */
struct ring_task {
    int rank, size, root;
    const unsigned char *input; /* reduce-scatter: own operands; may be equal to output */
    unsigned char *output;
    size_t count;        /* elements of the output */
    size_t element_size; /* bytes */
    reduce_fn *reduce;
    divide_fn *divide; /* NULL unless the result is an average */
    void *staging;     /* RING_SEGMENT bytes; where operands from the left wait to be combined */
};

/* A part of the output, in bytes. */
struct ring_block {
    size_t offset, nbytes;
};

struct ring_flow;

struct ring_flow_type {
    /* What is sent, or received, at `step`; 0 bytes for nothing. */
    struct ring_block (*outgoing)(const struct ring_task *task, int step);
    struct ring_block (*incoming)(const struct ring_task *task, int step);

    /* Whole elements have come that belong at `offset` of the output. NULL: what comes in is the
     * output. */
    void (*combine)(const struct ring_task *task, bool last_step, size_t offset,
                    const void *received, size_t nbytes);
};

struct ring_cursor {
    int step;
    size_t done; /* bytes of the step's block */
};

struct ring_flow {
    const struct ring_flow_type *type;
    struct ring_task task;
    int steps;
    const unsigned char *first; /* what step 0 sends from; later steps send from the output */
    struct ring_cursor out, in;
    size_t staged; /* bytes in task.staging: less than an element between calls */
};

void ring_flow_init(struct ring_flow *flow, const struct ring_flow_type *type,
                    const struct ring_task *task, int steps, const void *first);

/* What can be sent now (`*nbytes` may be 0, and is at most RING_SEGMENT), and that so much was. */
const void *ring_flow_output(const struct ring_flow *flow, size_t *nbytes);
void ring_flow_sent(struct ring_flow *flow, size_t nbytes);

/* Where what comes next belongs; `*nbytes` is 0 when nothing is awaited. Then: so much came. */
void *ring_flow_space(struct ring_flow *flow, size_t *nbytes);
void ring_flow_received(struct ring_flow *flow, size_t nbytes);

bool ring_flow_done(const struct ring_flow *flow);

/* The part of the output that is chunk `chunk` of `task->size`. */
struct ring_block ring_chunk_block(const struct ring_task *task, int chunk);

/* Chunk `rank` of `task->output` holds the reduction over all ranks; the rest holds anything. */
void reduce_scatter_ring_start(struct ring_flow *flow, const struct ring_task *task);

/* Every chunk of `task->output` is as it was on the rank of its number. */
void allgather_ring_start(struct ring_flow *flow, const struct ring_task *task);

/* `task->output` is as it was on the root. */
void broadcast_ring_start(struct ring_flow *flow, const struct ring_task *task);

#endif
