/* SPDX-License-Identifier: Apache-2.0 */
/* What the measured times of synthetic_benchmark mean. Arithmetic only. */
#ifndef EXAMPLES_SYNTHETIC_SUMMARY_H
#define EXAMPLES_SYNTHETIC_SUMMARY_H

#include <stddef.h>

/* One of --num-iters: seconds for a batch, averaged over its batches and the ranks. */
struct iteration {
    double step;          /* with everything */
    double alone;         /* computing and updating, nothing reduced */
    double communication; /* reducing all gradients, nothing computed */
};

struct summary {
    double images_per_s;               /* of each rank: the mean over the iterations */
    double margin;                     /* 1.96 standard deviations of it */
    double step, alone, communication; /* means, in seconds */
    double hidden_s;                   /* alone + communication - step, not below 0 */
    double hidden;     /* as a part of the communication, at most 1; 0 if there is none */
    double efficiency; /* alone / step: what a rank does of what it would do without the others */
};

void summarize(struct summary *summary, const struct iteration *iterations, size_t count,
               long batch_size, int ranks);

#endif
