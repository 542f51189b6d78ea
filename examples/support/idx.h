/* SPDX-License-Identifier: Apache-2.0 */
/* Labelled images in the IDX files of MNIST and Fashion-MNIST, as they are or packed by gzip.
 *
 *   images:  0 magic 0x00000803   4 count   8 height   12 width   16 count x height x width bytes
 *   labels:  0 magic 0x00000801   4 count   8 count bytes
 *
 * Integers are big-endian. */
#ifndef EXAMPLES_SUPPORT_IDX_H
#define EXAMPLES_SUPPORT_IDX_H

#include "examples/support/problem.h"

struct idx_shape {
    int height, width, classes;
};

struct idx_set {
    long count;
    unsigned char *pixels; /* owned; count x height x width, 0 is the background */
    unsigned char *labels; /* owned; count, each below classes */
};

/* Reads both files and checks that they are what they should be, to the last byte. Returns 0, or -1
 * with a problem that names the file and what was expected of it; `set` is then empty. */
int idx_read(struct idx_set *set, const struct idx_shape *shape, const char *images_path,
             const char *labels_path, struct problem *problem);

void idx_fini(struct idx_set *set);

#endif
