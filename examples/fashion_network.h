/* SPDX-License-Identifier: Apache-2.0 */
/* The network that fashion_mnist trains:
 *
 *   28 x 28 pixels, conv 3x3x32 relu, conv 3x3x64 relu, max-pool 2x2, dropout 0.25,
 *   dense 128 relu, dropout 0.5, dense 10, softmax cross-entropy: 1 199 882 parameters.
 *
 * It knows nothing of ranks. All parameters lie in one vector, all gradients in another; the
 * tensors are the parts of each, with their names. */
#ifndef EXAMPLES_FASHION_NETWORK_H
#define EXAMPLES_FASHION_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/fashion_data.h"
#include "hvd_optimizer.h"

enum { NETWORK_TENSORS = 8 };

struct network {
    struct hvd_parameter tensors[NETWORK_TENSORS]; /* weight and bias of each layer, forwards; data
                                                      and gradient are parts of the two vectors */
    float *parameter_values, *gradient_values;     /* owned */
    size_t parameter_count;

    int batch; /* images at a time, at most */
    /* What the forward pass leaves for the backward pass, for each image of the batch. */
    float *first;    /* after conv1 and relu; and then its gradient */
    float *pooled;   /* after conv2, max-pool, relu and dropout */
    int32_t *winner; /* of the max-pool */
    float *hidden;   /* after dense1, relu and dropout */
    float *logits;   /* and then their gradient */
    /* Gradients for each image of the batch, and scratch memory for one image. */
    float *d_pooled, *d_hidden;
    float *second, *columns, *d_first;
};

/* Images to learn from. The masks of image i are drawn from (seed, draws[i]): they depend on the
 * image, and not on how the images are dealt to ranks. */
struct network_batch {
    const float *pixels; /* count x IMAGE_PIXELS, 0 to 1 */
    const unsigned char *labels;
    int count;
    bool dropout;
    uint64_t seed;
    const uint64_t *draws;
};

/* The gradient of tensors[tensor] is complete. */
typedef void network_ready_fn(void *arg, int tensor);

/* Returns 0, or -1 when out of memory; network_fini() is due in both cases. */
int network_init(struct network *network, int batch);

/* Glorot's uniform distribution for the weights, 0 for the biases. */
void network_randomize(struct network *network, uint64_t seed, uint64_t index);

/* Forwards and backwards: leaves the gradients of the mean loss, and returns that loss. `ready` is
 * called for each tensor as soon as its gradient is there, the last layer's first. */
double network_learn(struct network *network, const struct network_batch *batch,
                     network_ready_fn *ready, void *arg);

/* How many of `count` images are recognised; no dropout. */
int network_count_correct(struct network *network, const float *pixels, const unsigned char *labels,
                          int count);

void network_fini(struct network *network);

#endif
