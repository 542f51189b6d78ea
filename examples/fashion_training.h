/* SPDX-License-Identifier: Apache-2.0 */
/* One rank's part of training the network: its share of the images, its gradients, averaged as they
 * become ready, and steps with them. */
#ifndef EXAMPLES_FASHION_TRAINING_H
#define EXAMPLES_FASHION_TRAINING_H

#include "examples/fashion_data.h"
#include "examples/fashion_network.h"
#include "examples/fashion_options.h"
#include "examples/fashion_state.h"
#include "examples/support/problem.h"
#include "hvd_elastic.h"

struct training {
    const struct fashion_options *options;
    int rank, size;
    struct fashion_data data;
    struct network network;
    struct optimizer rule;           /* what a step does */
    struct hvd_optimizer *optimizer; /* owned; averages the gradients before it */
    struct hvd_sampler *sampler;     /* owned */
    struct fashion_state state;
    double learning_rate; /* after the warm-up */

    int64_t batch;   /* number of the next one in the epoch */
    int64_t batches; /* of the epoch */

    /* Of one batch, owned: numbers and pixels of the images, names of their dropout masks. */
    uint64_t *images, *draws;
    float *pixels;
    unsigned char *labels;

    struct problem *problem; /* of the step at hand */
};

/* Everything that this rank needs before it meets the others. Returns 0, or -1 with a problem;
 * training_fini() is due in both cases. */
int training_init(struct training *training, const struct fashion_options *options,
                  struct problem *problem);
void training_fini(struct training *training);

/* Together with all other ranks: the optimizer; and the same state everywhere, from the checkpoint
 * or from rank 0. */
int training_start(struct training *training, struct problem *problem);

/* In an elastic job instead: what the ranks share, which hvd_elastic_sync() makes the same
 * everywhere. Returns the library's status. */
int training_add_state(struct training *training, struct hvd_elastic_state *elastic);
/* In each world of the job: the rank, the number of ranks and what follows from it. */
void training_enter_world(struct training *training);

/* The next batch of this epoch: one step of all ranks. `loss` is its mean over all of them,
 * `images` how many they were. */
int training_step(struct training *training, double *loss, int64_t *images,
                  struct problem *problem);

/* When the batches of an epoch are over. */
void training_start_epoch(struct training *training, int64_t epoch);

/* Writes the checkpoint, if there is to be one. */
int training_save(struct training *training, struct problem *problem);

/* The share of test images that is recognised, by all ranks together. */
int training_test(struct training *training, double *accuracy, struct problem *problem);

#endif
