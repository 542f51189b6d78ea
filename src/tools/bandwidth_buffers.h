/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a rank's input and output, in the host's memory or in that of a GPU, and their
 * images: host memory of the same size in which data are written and read. In host memory the
 * images are the buffers themselves.
 *
 *   on the host: make input and output in the images; buffers_put(); call; buffers_get(); compare */
#ifndef SRC_TOOLS_BANDWIDTH_BUFFERS_H
#define SRC_TOOLS_BANDWIDTH_BUFFERS_H

#include <stddef.h>

#include "examples/support/problem.h"

struct buffers {
    int device; /* hvd_cuda_open()'s; 0: the host */
    void *input, *output;
    void *input_image, *output_image;
};

/* Returns 0, or -1 with a problem when there is not enough memory, of exit status 2 if it is that
 * of the GPU. `device` is borrowed until buffers_fini(). */
int buffers_init(struct buffers *buffers, int device, size_t input_size, size_t output_size,
                 struct problem *problem);
void buffers_fini(struct buffers *buffers);

/* Copies the first bytes of the images to the GPU, or the output back. Nothing to do on the host.
 * Returns 0, or -1 with a problem. */
int buffers_put(const struct buffers *buffers, size_t input_size, size_t output_size,
                struct problem *problem);
int buffers_get(const struct buffers *buffers, size_t output_size, struct problem *problem);

#endif
