/* SPDX-License-Identifier: Apache-2.0 */
/* The training that synthetic_benchmark measures: parameters and gradients of a real network in
 * real memory, an optimizer, and batches without images.
 *
 * Gradients are whole numbers, different on each rank, whose average is a whole number, too: what
 * the reductions leave can be checked in every element. Averaging averages changes nothing, so
 * that holds after any number of batches. */
#ifndef EXAMPLES_SYNTHETIC_TRAINING_H
#define EXAMPLES_SYNTHETIC_TRAINING_H

#include "examples/synthetic_options.h"

struct training {
    const struct synthetic_options *options; /* borrowed */
    int rank, size;
    size_t elements;
    float *values, *gradients; /* owned; those of all tensors, one after the other */
    struct hvd_parameter parameters[MODEL_TENSORS_MAX];
    double ready_at[MODEL_TENSORS_MAX]; /* seconds from the beginning of a batch */
    struct compute compute;
    bool hold; /* the next update changes nothing */
    struct hvd_optimizer *optimizer;
};

/* Memory: nothing of the others is needed. Returns 0, or -1 with a problem. */
int training_init(struct training *training, const struct synthetic_options *options,
                  struct problem *problem);

/* Optimizer, and rank 0's parameters on all ranks. */
int training_start(struct training *training, struct problem *problem);

/* Puts this rank's own gradients where averages have been. */
void training_fill_gradients(struct training *training);

enum batch_kind {
    BATCH_WHOLE,   /* computes, reduces each gradient as soon as it is there, updates */
    BATCH_COMPUTE, /* computes, updates; reduces nothing */
    BATCH_REDUCE   /* reduces all gradients at once; neither computes nor updates */
};
int training_batch(struct training *training, enum batch_kind kind, struct problem *problem);

/* Are the gradients the averages that they must be? -1 with a problem that names an element. Adasum
 * leaves gradients alone: they must be this rank's own. */
int training_check_gradients(const struct training *training, struct problem *problem);

void training_fini(struct training *training);

#endif
