/* SPDX-License-Identifier: Apache-2.0 */
/* Named tensors in a file.
 *
 *    0 magic "HVDCKPT1"   8 version, 1   12 number of tensors
 *   16 for each tensor: 0 name, 32 bytes, filled up with zeros   32 dimensions, 1 to 4
 *                       36 shape, 4 x 4 bytes, unused ones 1   (52 bytes in all)
 *      then the elements of each tensor, float32, in the same order, to the end of the file
 *
 * Integers and floats are those of the machine that wrote it: little-endian everywhere we run. */
#ifndef EXAMPLES_SUPPORT_CHECKPOINT_H
#define EXAMPLES_SUPPORT_CHECKPOINT_H

#include <stddef.h>

#include "examples/support/problem.h"

enum { TENSOR_NAME_SIZE = 32, TENSOR_DIMENSIONS = 4, CHECKPOINT_TENSORS_MAX = 1024 };

struct tensor {
    char name[TENSOR_NAME_SIZE];
    int dimensions;
    int shape[TENSOR_DIMENSIONS]; /* unused ones are 1 */
    size_t count;                 /* the product of shape */
    float *values;                /* who owns them is said where the tensor is */
};

/* Writes to a temporary file beside `path`, and renames it when it is complete and on disk: at any
 * time `path` is the whole old file or the whole new one. Returns 0, or -1 with a problem. */
int checkpoint_write(const char *path, const struct tensor *tensors, size_t count,
                     struct problem *problem);

struct checkpoint {
    struct tensor *tensors; /* owned, and so are their values */
    size_t count;
};

/* Returns 0, or -1 with a problem that names the file; `checkpoint` is then empty. */
int checkpoint_read(struct checkpoint *checkpoint, const char *path, struct problem *problem);

void checkpoint_fini(struct checkpoint *checkpoint);

#endif
