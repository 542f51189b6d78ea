/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of PTX text, and launches; see stand_in.h. */
#include "tests/stand_in_cuda/stand_in.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 8 };

struct cuda_function {
    const struct stand_in_kernel *kernel;
    struct cuda_function *next;
};

struct cuda_module_image {
    struct stand_in_kernel *kernels;
    int count;
    struct cuda_function *functions;
};

static atomic_int images;

int stand_in_call_module_load(struct cuda_module_image **module, const void *image, unsigned count,
                              int *options, void **values)
{
    int result = stand_in_enter("cuModuleLoadDataEx", true);
    (void)options, (void)values;
    if (result == CUDA_OK && count != 0)
        result = CUDA_INVALID_VALUE;
    if (result != CUDA_OK)
        return result;
    struct cuda_module_image *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_OUT_OF_MEMORY;
    result = stand_in_parse(image, &made->kernels, &made->count);
    if (result != CUDA_OK) {
        free(made);
        return result;
    }
    atomic_fetch_add(&images, 1);
    *module = made;
    return CUDA_OK;
}

int stand_in_call_module_unload(struct cuda_module_image *module)
{
    int result = stand_in_enter("cuModuleUnload", true);
    if (result != CUDA_OK)
        return result;
    for (struct cuda_function *next, *function = module->functions; function; function = next) {
        next = function->next;
        free(function);
    }
    stand_in_free_kernels(module->kernels, module->count);
    free(module);
    atomic_fetch_sub(&images, 1);
    return CUDA_OK;
}

int stand_in_call_module_get_function(struct cuda_function **function,
                                      struct cuda_module_image *module, const char *name)
{
    int result = stand_in_enter("cuModuleGetFunction", true);
    if (result != CUDA_OK)
        return result;
    const struct stand_in_kernel *kernel = stand_in_find(module->kernels, module->count, name);
    struct cuda_function *made = kernel ? calloc(1, sizeof *made) : NULL;
    if (!made)
        return CUDA_NOT_FOUND;
    made->kernel = kernel;
    made->next = module->functions;
    module->functions = made;
    *function = made;
    return CUDA_OK;
}

struct launch {
    const struct stand_in_kernel *kernel;
    uint64_t parameters[PARAMETERS_MAX];
    unsigned blocks, threads;
};

static int run_launch(void *arg)
{
    const struct launch *launch = arg;
    return stand_in_interpret(launch->kernel, launch->parameters, launch->blocks, launch->threads);
}

/* Every parameter has 8 bytes. */
int stand_in_call_launch(struct cuda_function *function, unsigned grid_x, unsigned grid_y,
                         unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                         unsigned shared_nbytes, struct cuda_stream *stream, void **parameters,
                         void **extra)
{
    int result = stand_in_enter("cuLaunchKernel", true);
    bool is_plain = grid_x > 0 && block_x > 0 && block_x <= 1024 && shared_nbytes == 0 && !extra &&
                    grid_y * grid_z * block_y * block_z == 1;
    if (result == CUDA_OK && !is_plain)
        result = CUDA_INVALID_VALUE;
    if (result != CUDA_OK)
        return result;
    struct launch *launch = calloc(1, sizeof *launch);
    if (!launch)
        return CUDA_OUT_OF_MEMORY;
    *launch = (struct launch){ .kernel = function->kernel, .blocks = grid_x, .threads = block_x };
    for (int i = 0; i < stand_in_parameters(function->kernel); i++)
        memcpy(&launch->parameters[i], parameters[i], sizeof launch->parameters[i]);
    return stand_in_enqueue(stream, run_launch, launch);
}

void stand_in_count_images(struct stand_in_holdings *holdings)
{
    holdings->images = atomic_load(&images);
}
