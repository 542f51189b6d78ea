/* SPDX-License-Identifier: Apache-2.0 */
/* hvd_cuda.so: what libhvd finds when it has loaded this module; see lib/device/device_module.h. */
#include "lib/cuda/cuda_module.h"

#include "lib/cuda/cuda_device.h"
#include "lib/cuda/nccl.h"
#include "lib/cuda/reducer.h"

#include <stdio.h>
#include <stdlib.h>

static int module_open(const struct device_module_options *options, struct hvd_device *table,
                       struct err *err)
{
    struct cuda_device *device = malloc(sizeof *device);
    if (!device)
        return fail(err, HVD_ERR_NOMEM, "out of memory");
    int rc = cuda_device_open(device, options, err);
    if (rc == HVD_OK && (rc = cuda_reducer_create(&device->reducer, device, options, err)) < 0)
        cuda_device_close(device);
    if (rc < 0) {
        free(device);
        return rc;
    }
    cuda_device_fill(device, table);
    return HVD_OK;
}

static void module_number(void *context, int number)
{
    struct cuda_device *device = context;
    device->number = number;
}

static void module_close(void *context)
{
    struct cuda_device *device = context;
    if (!device)
        return;
    cuda_reducer_destroy(device->reducer);
    cuda_device_close(device);
    free(device);
}

static int describe_gpu(const struct cuda_driver *driver, int ordinal, char *line, size_t size,
                        struct err *err)
{
    int gpu, major = 0, minor = 0;
    char name[128] = "?";
    int result = driver->device_get(&gpu, ordinal);
    if (result != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuDeviceGet", err);
    driver->device_get_name(name, (int)sizeof name, gpu);
    driver->device_get_attribute(&major, CUDA_ATTRIBUTE_CAPABILITY_MAJOR, gpu);
    driver->device_get_attribute(&minor, CUDA_ATTRIBUTE_CAPABILITY_MINOR, gpu);
    snprintf(line, size, "GPU %d: %s, compute capability %d.%d\n", ordinal, name, major, minor);
    return HVD_OK;
}

static int module_describe(char *text, size_t size, struct err *err)
{
    const struct cuda_driver *driver = cuda_driver_open(err);
    if (!driver)
        return err->code;
    size_t at = (size_t)snprintf(text, size, "driver of CUDA %d.%d\n", driver->version / 1000,
                                 driver->version % 1000 / 10);
    for (int ordinal = 0; ordinal < driver->gpus; ordinal++) {
        char line[256];
        int rc = describe_gpu(driver, ordinal, line, sizeof line, err);
        if (rc < 0)
            return rc;
        if (at < size)
            at += (size_t)snprintf(text + at, size - at, "%s", line);
    }
    struct err none;
    const struct nccl *nccl = nccl_open(&none);
    if (at < size && nccl)
        snprintf(text + at, size - at, "NCCL %d\n", nccl->version);
    else if (at < size)
        snprintf(text + at, size - at, "%s\n", none.text);
    return HVD_OK;
}

const struct device_module *hvd_device_module(void)
{
    static const struct device_module module = {
        .version = DEVICE_MODULE_VERSION,
        .open = module_open,
        .number = module_number,
        .close = module_close,
        .describe = module_describe,
    };
    return &module;
}
