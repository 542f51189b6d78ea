/* SPDX-License-Identifier: Apache-2.0 */
/* The engine's entries in the timeline (timeline.h), on rank 0, for the sets it belongs to. For
 * each tensor:
 *
 *   WAIT_FOR_DATA         until its device has made the input
 *   NEGOTIATE_ALLREDUCE   from the first rank that is ready to the decision; an instant per rank
 *   ALLREDUCE             from the decision to the end, with type and shape; in it, unless the data
 *                         came with the decision:
 *     QUEUE                     until it may start
 *     MEMCPY_IN_FUSION_BUFFER   if it is one of several
 *     RING_ALLREDUCE            moving the data, with bytes and algorithm, which the name says too
 *     MEMCPY_OUT_FUSION_BUFFER
 *   or, on a device:
 *     QUEUE                     until there is pinned memory for it
 *     MEMCPY_IN_HOST_BUFFER     from the device, and until its first chunk may start
 *     RING_ALLREDUCE            until its last chunk is done; or DEVICE_ALLREDUCE,
 *                               DEVICE_BROADCAST ...
 *     MEMCPY_OUT_HOST_BUFFER    what is left of copying back
 *
 * Without a timeline each function costs the check of one pointer; where a comment says so, callers
 * make this check. A rank below another in the tree counts as ready when all ranks below it are. */
#ifndef LIB_ENGINE_TRACE_H
#define LIB_ENGINE_TRACE_H

#include "lib/engine/engine_impl.h"

/* Begins or ends to observe the set's negotiation, depending on whether there is a timeline. */
void trace_observe(struct process_set *set);

/* The tensor waits for the device that makes its input; the input is ready. */
void trace_waits(const struct tensor *tensor);
void trace_made(const struct tensor *tensor);

/* Only when there is a timeline. */
void trace_queued(const struct batch *batch);
void trace_packing(const struct batch *batch);
void trace_moving(const struct batch *batch);
void trace_moved(const struct batch *batch);

void trace_unpacked(const struct tensor *tensor);

/* The phases of a tensor in a batch on devices: all its chunks have come at least so far.
 * PHASE_MOVED and PHASE_OUT are those of the last chunk. */
enum trace_phase {
    PHASE_NONE,
    PHASE_QUEUE,
    PHASE_IN,
    PHASE_MOVING,
    PHASE_MOVED, /* between two spans */
    PHASE_OUT
};
void trace_stage(const struct batch *batch, enum trace_phase phase);
void trace_unstaged(struct tensor *tensor);

/* The tensor is done, or has failed, in any phase. */
void trace_done(const struct tensor *tensor, bool failed);

#endif
