/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of ResNet-50; see resnet50.h.
 *
 *   a 7 x 7 convolution; four stages of 3, 4, 6 and 3 blocks, each of three convolutions (1 x 1 to
 *   `width` channels, 3 x 3, 1 x 1 to 4 x width), the first of a stage with a fourth beside them
 *   that brings the input to as many channels; a dense layer. No convolution has a bias; after each
 *   comes a normalization with a scale and a shift per channel. */
#include "bench/support/resnet50.h"

struct list {
    size_t *next;
};

static void add(struct list *list, size_t count)
{
    *list->next++ = count;
}

static void add_convolution(struct list *list, size_t in, size_t out, size_t kernel)
{
    add(list, in * out * kernel * kernel);
    add(list, out);
    add(list, out);
}

static void add_stage(struct list *list, size_t in, size_t width, int blocks)
{
    for (int block = 0; block < blocks; block++) {
        add_convolution(list, block ? 4 * width : in, width, 1);
        add_convolution(list, width, width, 3);
        add_convolution(list, width, 4 * width, 1);
        if (block == 0)
            add_convolution(list, in, 4 * width, 1);
    }
}

void resnet50_counts(size_t counts[RESNET50_TENSORS])
{
    struct list list = { counts };
    add_convolution(&list, 3, 64, 7);
    add_stage(&list, 64, 64, 3);
    add_stage(&list, 256, 128, 4);
    add_stage(&list, 512, 256, 6);
    add_stage(&list, 1024, 512, 3);
    add(&list, 2048 * 1000);
    add(&list, 1000);
}
