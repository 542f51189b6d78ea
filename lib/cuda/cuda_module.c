/* SPDX-License-Identifier: Apache-2.0 */
/* hvd_cuda.so: what libhvd finds when it has loaded this module; see lib/device/device_module.h. */
#include "lib/cuda/cuda_module.h"

#include "lib/cuda/cuda_device.h"
#include "lib/cuda/reducer.h"

#include <stdlib.h>

static int module_open(const struct device_module_options *options, struct hvd_device *table,
                       struct hvd_device_extension *extension, struct err *err)
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
    cuda_device_fill(device, table, extension);
    return HVD_OK;
}

static void module_number(void *context, int number)
{
    struct cuda_device *device = context;
    device->number = number;
}

static void module_set_removed(void *context, int process_set, int serial)
{
    const struct cuda_device *device = context;
    if (device->reducer)
        cuda_reducer_set_removed(device->reducer, process_set, serial);
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

static int module_describe(void *context, int *ordinal, char *name, size_t size, struct err *err)
{
    return cuda_device_describe(context, ordinal, name, size, err);
}

static int module_alloc(void *context, size_t nbytes, void **memory, struct err *err)
{
    return cuda_device_alloc(context, nbytes, memory, err);
}

static int module_free(void *context, void *memory, struct err *err)
{
    return cuda_device_free(context, memory, err);
}

static int module_copy(void *context, void *to, const void *from, size_t nbytes, struct err *err)
{
    return cuda_device_copy(context, to, from, nbytes, err);
}

const struct device_module *hvd_device_module(void)
{
    static const struct device_module module = {
        .version = DEVICE_MODULE_VERSION,
        .open = module_open,
        .number = module_number,
        .set_removed = module_set_removed,
        .close = module_close,
        .describe = module_describe,
        .alloc = module_alloc,
        .free = module_free,
        .copy = module_copy,
    };
    return &module;
}
