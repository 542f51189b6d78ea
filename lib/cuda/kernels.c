/* SPDX-License-Identifier: Apache-2.0 */
/* See kernels.h. */
#include "lib/cuda/kernels.h"

#include <stdlib.h>

enum { KERNEL_THREADS = 256, KERNEL_BLOCKS = 1024 }; /* of a launch, at most */

bool cuda_kernels_acts(enum hvd_op op, enum kernel_act *act, enum kernel_act *last)
{
    static const struct {
        bool exists;
        enum kernel_act act, last;
    } acts[] = {
        [HVD_AVERAGE] = { true, KERNEL_SUM, KERNEL_AVERAGE },
        [HVD_SUM] = { true, KERNEL_SUM, KERNEL_SUM },
        [HVD_ADASUM] = { false, KERNEL_SUM, KERNEL_SUM },
        [HVD_MIN] = { true, KERNEL_MIN, KERNEL_MIN },
        [HVD_MAX] = { true, KERNEL_MAX, KERNEL_MAX },
        [HVD_PRODUCT] = { true, KERNEL_PRODUCT, KERNEL_PRODUCT },
    };
    if ((size_t)op >= sizeof acts / sizeof *acts || !acts[op].exists)
        return false;
    *act = acts[op].act;
    *last = acts[op].last;
    return true;
}

static int kernels_find(struct cuda_kernels *kernels, const struct cuda_device *device, int acts,
                        struct err *err)
{
    char name[KERNEL_NAME];
    for (int i = 0; i < acts * KERNEL_DTYPES; i++) {
        int act = i / KERNEL_DTYPES, dtype = i % KERNEL_DTYPES;
        if (!kernel_exists((enum kernel_act)act, (enum hvd_dtype)dtype))
            continue;
        kernel_name(name, (enum kernel_act)act, (enum hvd_dtype)dtype);
        int result = device->driver->module_get_function(&kernels->functions[act][dtype],
                                                         kernels->module, name);
        if (result != CUDA_OK)
            return cuda_driver_fail(device->driver, result, "cuModuleGetFunction", err);
    }
    return HVD_OK;
}

int cuda_kernels_load(struct cuda_kernels *kernels, const struct cuda_device *device, int acts,
                      struct err *err)
{
    *kernels = (struct cuda_kernels){ 0 };
    char *ptx = kernels_ptx(acts);
    if (!ptx)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int result = device->driver->module_load(&kernels->module, ptx, 0, NULL, NULL);
    free(ptx);
    if (result != CUDA_OK) {
        kernels->module = NULL;
        return cuda_driver_fail(device->driver, result, "cuModuleLoadDataEx", err);
    }
    return kernels_find(kernels, device, acts, err);
}

void cuda_kernels_unload(struct cuda_kernels *kernels, const struct cuda_device *device)
{
    if (kernels->module)
        device->driver->module_unload(kernels->module);
    kernels->module = NULL;
}

static int kernels_launch(const struct cuda_device *device, struct cuda_stream *stream,
                          struct cuda_function *function, size_t count, void **parameters,
                          struct err *err)
{
    size_t wanted = (count + KERNEL_THREADS - 1) / KERNEL_THREADS;
    unsigned blocks = wanted < KERNEL_BLOCKS ? (unsigned)wanted : KERNEL_BLOCKS;
    if (count == 0)
        return HVD_OK;
    int result = device->driver->launch(function, blocks, 1, 1, KERNEL_THREADS, 1, 1, 0, stream,
                                        parameters, NULL);
    return result == CUDA_OK ? HVD_OK
                             : cuda_driver_fail(device->driver, result, "cuLaunchKernel", err);
}

int cuda_kernels_scale(const struct cuda_kernels *kernels, const struct cuda_device *device,
                       struct cuda_stream *stream, enum hvd_dtype dtype, void *out, const void *in,
                       size_t count, double factor, struct err *err)
{
    uint64_t to = (uintptr_t)out, from = (uintptr_t)in, elements = count;
    void *parameters[] = { &to, &from, &elements, &factor };
    return kernels_launch(device, stream, kernels->functions[KERNEL_SCALE][dtype], count,
                          parameters, err);
}

int cuda_kernels_reduce(const struct cuda_kernels *kernels, const struct cuda_device *device,
                        struct cuda_stream *stream, enum kernel_act act, enum hvd_dtype dtype,
                        uint64_t out, uint64_t in, size_t count, int divisor, struct err *err)
{
    uint64_t elements = count, by = (uint64_t)divisor;
    void *parameters[] = { &out, &out, &in, &elements, &by };
    return kernels_launch(device, stream, kernels->functions[act][dtype], count, parameters, err);
}
