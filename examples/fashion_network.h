/* SPDX-License-Identifier: Apache-2.0 */
/* The network that fashion_mnist trains:
 *
 *   28 x 28 pixels, conv 3x3x32 relu, conv 3x3x64 relu, max-pool 2x2, dropout 0.25,
 *   dense 128 relu, dropout 0.5, dense 10, softmax cross-entropy: 1 199 882 parameters.
 *
 * It knows nothing of ranks. All parameters lie in one vector, all gradients in another; the tensor
 * tables name the parts of each. */
#ifndef EXAMPLES_FASHION_NETWORK_H
#define EXAMPLES_FASHION_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/fashion_data.h"
#include "examples/support/checkpoint.h"

enum { NETWORK_TENSORS = 8 };

struct network {
    struct tensor parameters[NETWORK_TENSORS]; /* values are parts of parameter_values */
    struct tensor gradients[NETWORK_TENSORS];  /* same names and shapes */
    float *parameter_values, *gradient_values; /* owned */
    size_t parameter_count;

    int batch; /* images at a time, at most */
    /* What the forward pass leaves for the backward pass, for each image of the batch. */
    float *first;    /* after conv1 and relu */
    float *pooled;   /* after conv2, max-pool, relu and dropout */
    int32_t *winner; /* of the max-pool */
    float *hidden;   /* after dense1, relu and dropout */
    float *logits;   /* and then their gradient */
    /* Gradients for each image of the batch, and scratch memory for one image. */
    float *d_pooled, *d_hidden;
    float *second, *columns, *d_first;
};

/* Images to learn from. The mask of image i is drawn from (seed, dropout_index + i), so it does not
 * depend on how the images are dealt to ranks. */
struct network_batch {
    const float *pixels; /* count x IMAGE_PIXELS, 0 to 1 */
    const unsigned char *labels;
    int count;
    bool dropout;
    uint64_t seed, dropout_index;
};

/* Returns 0, or -1 when out of memory; network_fini() is due in both cases. */
int network_init(struct network *network, int batch);

/* Glorot's uniform distribution for the weights, 0 for the biases. */
void network_randomize(struct network *network, uint64_t seed, uint64_t index);

/* Forwards and backwards: leaves the gradients of the mean loss, and returns that loss. */
double network_learn(struct network *network, const struct network_batch *batch);

/* How many of `count` images are recognised; no dropout. */
int network_count_correct(struct network *network, const float *pixels, const unsigned char *labels,
                          int count);

void network_fini(struct network *network);

#endif
