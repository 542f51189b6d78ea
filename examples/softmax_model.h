/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax regression on an accelerator: the 784 pixels of an image, times weights, plus biases, are
 * the logits of 10 classes.
 *
 * Parameters, gradients and images live in the accelerator's memory, and all arithmetic is done by
 * its kernels. The host gives it images, and is told losses and counts. It knows nothing of ranks.
 *
 *     softmax_model_init(&model, accelerator, &shape, &problem);
 *     softmax_model_learn(&model, set, images, event, &problem);   gradients are there at the event
 *     softmax_model_update(&model, &problem);
 *     loss = softmax_model_loss(&model); */
#ifndef EXAMPLES_SOFTMAX_MODEL_H
#define EXAMPLES_SOFTMAX_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "examples/fashion_data.h"
#include "examples/support/accelerator.h"
#include "examples/support/problem.h"

enum {
    SOFTMAX_WEIGHTS = IMAGE_PIXELS * IMAGE_CLASSES, /* a row of classes for each pixel */
    SOFTMAX_VALUES = SOFTMAX_WEIGHTS + IMAGE_CLASSES
};

struct softmax_shape {
    int batches; /* of one image each, whose gradients are averaged for a step */
    double learning_rate;
};

/* The arguments of a kernel that works on images. */
struct softmax_kernel_images {
    const struct softmax_model *model;
    int first, count; /* places in `pixels` and `labels` */
};

struct softmax_model {
    struct softmax_shape shape;
    struct accelerator *accelerator; /* borrowed */

    /* In its memory; owned. */
    float *weight, *bias, *d_weight, *d_bias;
    float *pixels;    /* batches x IMAGE_PIXELS, 0 to 1 */
    int32_t *labels;  /* batches */
    double *loss;     /* added up over the batches of a step */
    int64_t *correct; /* images that were recognised */

    /* In the host's, on their way there; owned. */
    float *host_pixels;
    int32_t *host_labels;
    struct softmax_kernel_images *arguments; /* one for each batch */
};

/* Returns 0, or -1 with a problem; softmax_model_fini() is due in both cases. */
int softmax_model_init(struct softmax_model *model, struct accelerator *accelerator,
                       const struct softmax_shape *shape, struct problem *problem);

/* Draws the weights from N(0, 1); the biases are 0. */
void softmax_model_randomize(struct softmax_model *model, uint64_t seed, uint64_t index);

/* Puts one kernel for each batch on the accelerator; `images` are `batches` of the set. When it has
 * passed `event`, the gradients are the mean over the batches. Returns 0, or -1 with a problem. */
int softmax_model_learn(struct softmax_model *model, const struct idx_set *set,
                        const uint64_t *images, void *event, struct problem *problem);

/* Puts the kernel that goes one step down the gradients on the accelerator. */
int softmax_model_update(struct softmax_model *model, struct problem *problem);

/* Waits for the accelerator. The mean loss of the batches learned last. */
double softmax_model_loss(struct softmax_model *model);

/* How many of the images from `begin` to `end` of the set are recognised, or -1 with a problem. */
int64_t softmax_model_count_correct(struct softmax_model *model, const struct idx_set *set,
                                    long begin, long end, struct problem *problem);

/* Reads the weights, and then the biases: SOFTMAX_VALUES. */
void softmax_model_read(const struct softmax_model *model, float *values);

void softmax_model_fini(struct softmax_model *model);

#endif
