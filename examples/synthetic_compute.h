/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for computing in the synthetic benchmark: a batch takes a given time on each rank.
 *
 *     sleep:MS   an accelerator computes, and the processor is free meanwhile. The time goes on
 *                whatever the processor does, as a queue of kernels would.
 *     burn:MS    the processor computes, in this thread: it takes so much of its time, however long
 *                that is when others want it, too.
 *
 * Sleeps end at absolute times, so that what each sleeps too long does not add up. */
#ifndef EXAMPLES_SYNTHETIC_COMPUTE_H
#define EXAMPLES_SYNTHETIC_COMPUTE_H

#include "examples/models/model.h"
#include "examples/support/problem.h"

enum compute_kind { COMPUTE_SLEEP, COMPUTE_BURN };

struct compute {
    enum compute_kind kind;
    double seconds; /* of one batch: forwards and backwards */
    double origin;  /* sleep: when the batch began */
    double spent;   /* burn: processor time since then */
};

/* Reads "sleep:MS" or "burn:MS". Returns 0, or -1 with a problem of exit status 2. */
int compute_parse(struct compute *compute, const char *text, struct problem *problem);

/* What an accelerator needs that trains ResNet-50 with 300 images/s (about what a V100 does with
 * float32), and other models with as many multiplications per second. */
double compute_seconds_of_accelerator(const struct model *model, long batch_size);

/* When each gradient is complete, in seconds from the beginning of the batch. The first third goes
 * forwards; then the gradients come from the last to the first, each after a part of the rest as
 * large as its tensor's part of the multiplications. */
void compute_schedule(const struct model *model, double seconds, double ready_at[]);

void compute_begin(struct compute *compute);

/* Computes until so many seconds of the batch's work have been done. */
void compute_until(struct compute *compute, double seconds);

#endif
