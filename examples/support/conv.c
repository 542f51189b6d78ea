/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution as matrix product (im2col):
 *   columns has a row for each output pixel: the 3 x 3 x channels inputs that it sees;
 *   output = columns * weight + bias;
 *   d_weight = columns^T * d_output;   d_input = the rows of d_output * weight^T, added back. */
#include "examples/support/conv.h"

#include <cblas.h>
#include <string.h>

enum { KERNEL = 3 };

int conv_output_height(const struct conv *conv)
{
    return conv->height - KERNEL + 1;
}

int conv_output_width(const struct conv *conv)
{
    return conv->width - KERNEL + 1;
}

static int output_pixels(const struct conv *conv)
{
    return conv_output_height(conv) * conv_output_width(conv);
}

/* Inputs that one output pixel sees. */
static int patch_size(const struct conv *conv)
{
    return KERNEL * KERNEL * conv->channels;
}

size_t conv_output_count(const struct conv *conv)
{
    return (size_t)output_pixels(conv) * (size_t)conv->filters;
}

size_t conv_columns_count(const struct conv *conv)
{
    return (size_t)output_pixels(conv) * (size_t)patch_size(conv);
}

/* The three pixels of a kernel row lie side by side in the image, and stay so in the column row. */
static void image_to_columns(const struct conv *conv, const float *input, float *columns)
{
    int run = KERNEL * conv->channels, line = conv->width * conv->channels;
    for (int y = 0; y < conv_output_height(conv); y++) {
        for (int x = 0; x < conv_output_width(conv); x++) {
            const float *from = input + y * line + x * conv->channels;
            for (int ky = 0; ky < KERNEL; ky++, columns += run)
                memcpy(columns, from + ky * line, (size_t)run * sizeof *columns);
        }
    }
}

static void add_columns_to_image(const struct conv *conv, const float *columns, float *image)
{
    int run = KERNEL * conv->channels, line = conv->width * conv->channels;
    memset(image, 0, (size_t)(conv->height * line) * sizeof *image);
    for (int y = 0; y < conv_output_height(conv); y++) {
        for (int x = 0; x < conv_output_width(conv); x++) {
            float *to = image + y * line + x * conv->channels;
            for (int ky = 0; ky < KERNEL; ky++, columns += run)
                for (int i = 0; i < run; i++)
                    to[ky * line + i] += columns[i];
        }
    }
}

void conv_forward(const struct conv *conv, const float *input, const float *weight,
                  const float *bias, float *columns, float *output)
{
    int pixels = output_pixels(conv), patch = patch_size(conv), filters = conv->filters;
    image_to_columns(conv, input, columns);
    for (int i = 0; i < pixels; i++)
        memcpy(output + i * filters, bias, (size_t)filters * sizeof *output);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, pixels, filters, patch, 1, columns,
                patch, weight, filters, 1, output, filters);
}

void conv_backward(const struct conv *conv, const float *input, const float *weight,
                   const float *d_output, float *columns, float *d_weight, float *d_bias,
                   float *d_input)
{
    int pixels = output_pixels(conv), patch = patch_size(conv), filters = conv->filters;
    for (int i = 0; i < pixels; i++)
        for (int f = 0; f < filters; f++)
            d_bias[f] += d_output[i * filters + f];
    image_to_columns(conv, input, columns);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, patch, filters, pixels, 1, columns, patch,
                d_output, filters, 1, d_weight, filters);
    if (d_input == NULL)
        return;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, pixels, patch, filters, 1, d_output,
                filters, weight, filters, 0, columns, patch);
    add_columns_to_image(conv, columns, d_input);
}
