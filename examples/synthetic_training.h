/* SPDX-License-Identifier: Apache-2.0 */
/* The training that synthetic_benchmark measures: parameters and gradients of a real network in
 * real memory, an optimizer, and batches without images.
 *
 * Gradients are whole numbers, different on each rank, whose average is a whole number, too: what
 * the reductions leave can be checked in every element. Averaging averages changes nothing, so
 * that holds after any number of batches. */
#ifndef EXAMPLES_SYNTHETIC_TRAINING_H
#define EXAMPLES_SYNTHETIC_TRAINING_H

#include "examples/synthetic_machine.h"
#include "examples/synthetic_options.h"

/* Computing until a gradient is complete. */
struct part {
    struct compute *compute;
    double until; /* seconds from the beginning of a batch */
};

struct training {
    const struct synthetic_options *options; /* borrowed */
    int rank, size;
    size_t elements;
    struct machine machine;
    float *values, *gradients; /* the machine's; those of all tensors, one after the other */
    float *copy; /* owned; where the processor reads either; NULL if it can do that anyway */
    struct hvd_parameter parameters[MODEL_TENSORS_MAX];
    struct part parts[MODEL_TENSORS_MAX];
    struct compute compute;
    float rate;              /* of learning in the next update */
    bool hold;               /* the next update changes nothing */
    struct problem *problem; /* borrowed by the update */
    struct hvd_optimizer *optimizer;
};

/* Memory: nothing of the others is needed. Returns 0, or -1 with a problem. */
int training_init(struct training *training, const struct synthetic_options *options,
                  struct problem *problem);

/* Optimizer, and rank 0's parameters on all ranks. */
int training_start(struct training *training, struct problem *problem);

/* Puts this rank's own gradients where averages have been. */
int training_fill_gradients(struct training *training, struct problem *problem);

enum batch_kind {
    BATCH_WHOLE,   /* computes, reduces each gradient as soon as it is there, updates */
    BATCH_COMPUTE, /* computes, updates by nothing; reduces nothing */
    BATCH_REDUCE   /* reduces all gradients at once; neither computes nor updates */
};
int training_batch(struct training *training, enum batch_kind kind, struct problem *problem);

/* Are the gradients the averages that they must be? -1 with a problem that names an element. Adasum
 * leaves gradients alone: they must be this rank's own. */
int training_check_gradients(struct training *training, struct problem *problem);

/* 1 if all ranks hold the same parameters, 0 if not, -1 with a problem. */
int training_compare_parameters(struct training *training, struct problem *problem);

void training_fini(struct training *training);

#endif
