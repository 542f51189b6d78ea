/* SPDX-License-Identifier: Apache-2.0 */
/* The speed of links, from what hvd-bandwidth has measured with two ranks:
 *
 *   hvdrun -np 2 -H a:2 hvd-bandwidth --tsv >local.tsv
 *   hvdrun -np 2 -H a:1,b:1 hvd-bandwidth --tsv >network.tsv
 *
 * The time of the smallest allreduce is one frame each way at the same time; the bandwidth is the
 * one with which a replayed allreduce of the largest size takes as long as the measured one. Where
 * the reductions alone would take longer, on one host, they are taken to be faster instead.
 *
 * Fails (HVD_ERR_INVALID) for a file that cannot be read or has no allreduce of two sizes that
 * differ by a factor of 1000, and for times that no bandwidth explains. */
#ifndef BENCH_PREDICTION_MEASURED_H
#define BENCH_PREDICTION_MEASURED_H

#include "bench/prediction/cluster.h"
#include "lib/base/status.h"

#include <stdbool.h>
#include <stdio.h>

/* Two allreduces of float32. */
struct measured {
    size_t small, large;       /* bytes */
    double small_ns, large_ns; /* of each call */
};

/* Rows of in-place allreduces count; `name` is that of the file, for messages. */
int measured_read(struct measured *measured, FILE *file, const char *name, struct err *err);

/* Fills in the latency and per_call of the link between the two ranks, and the bandwidth: per_byte
 * of the local link, or the adapter, or of the reductions. The other members of `speed` have been
 * filled in. */
int measured_apply(const struct measured *measured, bool local, struct cluster_speed *speed,
                   struct err *err);

#endif
