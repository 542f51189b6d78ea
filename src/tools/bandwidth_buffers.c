/* SPDX-License-Identifier: Apache-2.0 */
/* See bandwidth_buffers.h. */
#include "src/tools/bandwidth_buffers.h"

#include <stdlib.h>

#include "examples/support/agreement.h"
#include "hvd_cuda.h"

enum { CACHE_LINE = 64 };

static void *buffers_allocate_image(size_t size)
{
    return aligned_alloc(CACHE_LINE, (size + CACHE_LINE) / CACHE_LINE * CACHE_LINE);
}

/* The other ranks learn of the failure when all ranks agree to go on, so the world is not
 * broken. */
static int buffers_allocate(int device, size_t size, void **memory, struct problem *problem)
{
    int rc = hvd_cuda_alloc(device, size + 1, memory); /* no memory of 0 bytes */
    if (rc == HVD_OK)
        return 0;
    return problem_set(problem, rc == HVD_ERR_NOMEM ? EXIT_STATUS_USAGE : EXIT_STATUS_DATA,
                       "rank %d: --maxbytes: %s", hvd_rank(), hvd_last_error());
}

int buffers_init(struct buffers *buffers, int device, size_t input_size, size_t output_size,
                 struct problem *problem)
{
    *buffers = (struct buffers){ .device = device };
    buffers->input_image = buffers_allocate_image(input_size);
    buffers->output_image = buffers_allocate_image(output_size);
    if (!buffers->input_image || !buffers->output_image)
        return problem_nomem(problem);
    if (device > 0)
        return buffers_allocate(device, input_size, &buffers->input, problem) < 0
                   ? -1
                   : buffers_allocate(device, output_size, &buffers->output, problem);
    buffers->input = buffers->input_image;
    buffers->output = buffers->output_image;
    return 0;
}

void buffers_fini(struct buffers *buffers)
{
    if (buffers->device > 0) {
        hvd_cuda_free(buffers->device, buffers->input);
        hvd_cuda_free(buffers->device, buffers->output);
    }
    free(buffers->input_image);
    free(buffers->output_image);
}

static int buffers_copy(const struct buffers *buffers, void *to, const void *from, size_t size,
                        struct problem *problem)
{
    if (buffers->device == 0 || hvd_cuda_copy(buffers->device, to, from, size) == HVD_OK)
        return 0;
    return problem_from_hvd(problem, "--device");
}

int buffers_put(const struct buffers *buffers, size_t input_size, size_t output_size,
                struct problem *problem)
{
    return buffers_copy(buffers, buffers->input, buffers->input_image, input_size, problem) < 0
               ? -1
               : buffers_copy(buffers, buffers->output, buffers->output_image, output_size,
                              problem);
}

int buffers_get(const struct buffers *buffers, size_t output_size, struct problem *problem)
{
    return buffers_copy(buffers, buffers->output_image, buffers->output, output_size, problem);
}
