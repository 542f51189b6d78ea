/* SPDX-License-Identifier: Apache-2.0 */
/* The images that examples train on: the four files of Fashion-MNIST in one directory. Every rank
 * reads all of them (47 MB unpacked), and trains on its share. */
#ifndef EXAMPLES_FASHION_DATA_H
#define EXAMPLES_FASHION_DATA_H

#include "examples/support/idx.h"
#include "examples/support/problem.h"

#define FASHION_DATA_DIRECTORY "/usr/share/datasets/fashion-mnist" /* where Debian has it */

enum { IMAGE_HEIGHT = 28, IMAGE_WIDTH = 28, IMAGE_PIXELS = 28 * 28, IMAGE_CLASSES = 10 };

struct fashion_data {
    struct idx_set train, test;
};

/* The first `limit` and `test_limit` images; 0 for all. Returns 0, or -1 with a problem that names
 * the file. */
int fashion_data_read(struct fashion_data *data, const char *directory, long limit, long test_limit,
                      struct problem *problem);

/* One image as the network wants it: IMAGE_PIXELS numbers from 0 to 1. */
void fashion_data_pixels(const struct idx_set *set, long image, float *pixels);

void fashion_data_fini(struct fashion_data *data);

#endif
