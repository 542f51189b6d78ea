/* SPDX-License-Identifier: Apache-2.0 */
/* A 3 x 3 convolution without padding over one image, forwards and backwards.
 *
 * Images are height x width x channels, the channels of a pixel side by side (NHWC). Weights are
 * 3 x 3 x channels x filters, as Keras has them. One image at a time, because its columns then
 * stay in the cache; the matrix products are already large enough. */
#ifndef EXAMPLES_SUPPORT_CONV_H
#define EXAMPLES_SUPPORT_CONV_H

#include <stddef.h>

struct conv {
    int height, width, channels; /* of the input */
    int filters;
};

int conv_output_height(const struct conv *conv);
int conv_output_width(const struct conv *conv);
size_t conv_output_count(const struct conv *conv);

/* Elements of the scratch memory `columns`. */
size_t conv_columns_count(const struct conv *conv);

void conv_forward(const struct conv *conv, const float *input, const float *weight,
                  const float *bias, float *columns, float *output);

/* Adds to `d_weight` and `d_bias`, overwrites `d_input`, which may be NULL if nobody wants it. */
void conv_backward(const struct conv *conv, const float *input, const float *weight,
                   const float *d_output, float *columns, float *d_weight, float *d_bias,
                   float *d_input);

#endif
