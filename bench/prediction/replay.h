/* SPDX-License-Identifier: Apache-2.0 */
/* A world of libhvd's ranks in virtual time, for predictions of how long its collectives take.
 *
 * What the ranks decide is the library's own code: the agreement (lib/negotiation: which tensors
 * are ready everywhere, what is fused), the choice of the algorithm (lib/collective/algorithm.h),
 * and the operations, which say byte by byte what may be sent when (lib/collective/operation.h).
 * What stands for the rest of the engine (lib/engine) is here: one progress engine for each rank,
 * which does one thing at a time.
 *
 *   a frame has come      per_call and per_byte of its link, and `reduce` for what is combined
 *   a frame is sent       per_call and per_byte of its link
 *   a batch is packed     `copy` for each byte, if tensors are fused; likewise when it is done
 *   agreement             messages are frames, whose length is the real one
 *
 * There are no data: all ranks have the same memory, which is never read, and the functions that
 * combine elements only count (counted_reduce.c). Left out: the steady state, which saves sets of
 * up to five ranks the way to the root; sleeping and waking; the public calls; links that have to
 * be made. A rank that waits costs nothing, even where ranks share processors.
 *
 * Ends the program when out of memory, and when the library's code returns an error, which it has
 * no reason to. */
#ifndef BENCH_PREDICTION_REPLAY_H
#define BENCH_PREDICTION_REPLAY_H

#include "bench/prediction/cluster.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_options {
    int ranks, ranks_per_host; /* ranks are placed host by host; the last host may have fewer */
    int algorithm;             /* enum algorithm, wherever it can be used; -1: the table's choice */
    size_t fusion_threshold;   /* HVD_FUSION_THRESHOLD */
    double spread;             /* standard deviation of the ranks' compute times, relative */
    struct cluster_speed speed;
};

/* A gradient: an allreduce of so many float32, on all ranks under the same name. */
struct replay_tensor {
    const char *name;
    size_t count;
    double ready_ns; /* from the beginning of the step */
};

struct replay_step {
    double ns;           /* from the beginning until the last rank has the last tensor */
    int operations;      /* collectives that move data, alone or fused */
    int fused_tensors;   /* tensors in operations of several */
    int inline_tensors;  /* small ones, whose data go with the agreement */
    uint64_t host_bytes; /* that left a host, of all hosts together */
    uint64_t used;       /* algorithms: bit 1 << enum algorithm */
};

struct replay;
struct replay *replay_create(const struct replay_options *options);
void replay_destroy(struct replay *replay);

/* Every rank computes for `compute_ns` and submits each tensor when it is ready; with a spread all
 * of a rank's times are drawn anew for each step, longer or shorter by the same factor. With `dry`
 * the operations take no time and move nothing: the ranks only learn the names. */
void replay_run(struct replay *replay, const struct replay_tensor *tensors, int count,
                double compute_ns, bool dry, struct replay_step *step);

/* Nanoseconds of one allreduce that all ranks begin at the same time, without the agreement. */
double replay_allreduce_ns(struct replay *replay, size_t count);

#endif
