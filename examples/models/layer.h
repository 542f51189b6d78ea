/* SPDX-License-Identifier: Apache-2.0 */
/* Adding the tensors of a layer to a model, and what the layer makes of its input. A tensor is
 * multiplied with once at each place of the layer's output. */
#ifndef EXAMPLES_MODELS_LAYER_H
#define EXAMPLES_MODELS_LAYER_H

#include "examples/models/model.h"

/* What flows between layers: `channels` square images of `side` x `side`. */
struct feature_map {
    int channels, side;
};

struct convolution {
    int channels; /* of its output */
    int height, width;
    int stride;
    bool valid; /* not padded: the kernel stays inside the image */
};

/* clang-format off */
/* As the field calls them; the last two with a square kernel. */
#define SAME(channels, height, width) { channels, height, width, 1, false }
#define STRIDED(channels, side, stride) { channels, side, side, stride, false }
#define VALID(channels, side, stride) { channels, side, side, stride, true }
/* clang-format on */

/* <name>.weight; the normalization or the bias that follows is not in it. */
struct feature_map add_convolution(struct model *model, const char *name, struct feature_map input,
                                   const struct convolution *convolution);

/* <name>.weight and <name>.bias: a factor and a summand for each channel. */
void add_normalization(struct model *model, const char *name, struct feature_map input);

/* <name>.bias */
void add_bias(struct model *model, const char *name, struct feature_map input);

/* <name>.weight and <name>.bias; takes its input as one row. */
struct feature_map add_dense(struct model *model, const char *name, struct feature_map input,
                             int outputs);

/* Has no parameters. */
struct feature_map pool(struct feature_map input, int kernel, int stride, bool valid);

#endif
