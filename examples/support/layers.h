/* SPDX-License-Identifier: Apache-2.0 */
/* The layers around the convolutions, forwards and backwards. Matrices are row-major, one row for
 * each image; gradients of the loss by x are called d_x. */
#ifndef EXAMPLES_SUPPORT_LAYERS_H
#define EXAMPLES_SUPPORT_LAYERS_H

#include <stddef.h>
#include <stdint.h>

#include "examples/support/random.h"

/* output = input * weight + bias, for `rows` rows; weight is inputs x outputs. */
struct dense {
    int rows, inputs, outputs;
};
void dense_forward(const struct dense *dense, const float *input, const float *weight,
                   const float *bias, float *output);

/* Adds to `d_weight` and `d_bias`, overwrites `d_input`. */
void dense_backward(const struct dense *dense, const float *input, const float *weight,
                    const float *d_output, float *d_weight, float *d_bias, float *d_input);

/* In place. Backwards, `output` is what relu_forward() left. */
void relu_forward(float *values, size_t count);
void relu_backward(const float *output, float *d_values, size_t count);

/* Each output is the largest of 2 x 2 inputs of one image, height x width x channels; height and
 * width are even. `winner` remembers which of the four, the first among equals. */
struct maxpool {
    int height, width, channels; /* of the input */
};
size_t maxpool_output_count(const struct maxpool *pool);
void maxpool_forward(const struct maxpool *pool, const float *input, float *output,
                     int32_t *winner);
void maxpool_backward(const struct maxpool *pool, const float *d_output, const int32_t *winner,
                      float *d_input);

/* Sets a share of `rate` of the values to 0 and scales up the others, in place. The stream decides
 * which; backwards is the same call on the gradient with the same stream, started anew. */
void dropout(struct random_stream stream, float rate, float *values, size_t count);

/* Softmax and cross-entropy of one row. Overwrites `logits` with their gradient, and returns the
 * loss. */
double softmax_cross_entropy(float *logits, int classes, int label);

/* The index of the largest of `classes` values, the first among equals. */
int most_likely(const float *logits, int classes);

#endif
