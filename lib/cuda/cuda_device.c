/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU's context, its streams and its memory; see cuda_device.h. */
#include "lib/cuda/cuda_device.h"

#include "lib/cuda/cuda_ordinal.h"

#include <stdbool.h>
#include <stdio.h>

int cuda_device_enter(const struct cuda_device *device, struct err *err)
{
    int result = device->driver->push(device->context);
    return result == CUDA_OK ? HVD_OK
                             : cuda_driver_fail(device->driver, result, "cuCtxPushCurrent", err);
}

void cuda_device_leave(const struct cuda_device *device)
{
    struct cuda_context *context;
    device->driver->pop(&context);
}

/* ---- opening ---- */

static int device_check_gpu(const struct cuda_device *device, struct err *err)
{
    int unified = 0;
    int result = device->driver->device_get_attribute(&unified, CUDA_ATTRIBUTE_UNIFIED_ADDRESSING,
                                                      device->gpu);
    if (result != CUDA_OK)
        return cuda_driver_fail(device->driver, result, "cuDeviceGetAttribute", err);
    return unified
               ? HVD_OK
               : fail(err, HVD_ERR_SYSTEM, "the GPU has no unified addressing, which is needed");
}

static int device_make_streams(struct cuda_device *device, struct err *err)
{
    int rc = cuda_device_enter(device, err);
    if (rc < 0)
        return rc;
    for (int i = 0; i < CUDA_QUEUES && rc == HVD_OK; i++) {
        int result = device->driver->stream_create(&device->streams[i], CUDA_STREAM_NON_BLOCKING);
        if (result != CUDA_OK)
            rc = cuda_driver_fail(device->driver, result, "cuStreamCreate", err);
    }
    cuda_device_leave(device);
    return rc;
}

static int device_retain(struct cuda_device *device, struct err *err)
{
    int result = device->driver->device_get(&device->gpu, device->ordinal);
    if (result != CUDA_OK)
        return cuda_driver_fail(device->driver, result, "cuDeviceGet", err);
    int rc = device_check_gpu(device, err);
    if (rc < 0)
        return rc;
    result = device->driver->primary_retain(&device->context, device->gpu);
    if (result != CUDA_OK) {
        device->context = NULL;
        return cuda_driver_fail(device->driver, result, "cuDevicePrimaryCtxRetain", err);
    }
    return device_make_streams(device, err);
}

int cuda_device_open(struct cuda_device *device, const struct device_module_options *options,
                     struct err *err)
{
    *device = (struct cuda_device){ .driver = cuda_driver_open(err) };
    if (!device->driver)
        return err->code;
    device->ordinal = cuda_ordinal_choose(options, device->driver->gpus, err);
    if (device->ordinal < 0)
        return err->code;
    snprintf(device->name, sizeof device->name, "cuda:%d", device->ordinal);
    int rc = device_retain(device, err);
    if (rc < 0) {
        fail_context(err, "GPU %d", device->ordinal);
        cuda_device_close(device);
    }
    return rc;
}

/* The driver frees what a call here fails to free when the process ends. */
void cuda_device_close(struct cuda_device *device)
{
    struct err err;
    if (!device->context)
        return;
    if (cuda_device_enter(device, &err) == HVD_OK) {
        for (int i = 0; i < CUDA_QUEUES; i++)
            if (device->streams[i])
                device->driver->stream_destroy(device->streams[i]);
        cuda_device_leave(device);
    }
    device->driver->primary_release(device->gpu);
    device->context = NULL;
}

/* ---- whose memory ---- */

/* Managed memory is wherever it is needed; the driver copies it like any other.
 *
 * A driver that fails, for instance because the GPU has fallen off the bus, does not say whose
 * memory it is. The memory is accepted then: the collective fails when it is copied or reduced, on
 * all ranks and in the driver's words. A refusal would leave the other ranks waiting. */
static int device_check_address(const struct cuda_device *device, uint64_t memory, struct err *err)
{
    unsigned type = 0, managed = 0;
    int ordinal = -1;
    const struct cuda_driver *driver = device->driver;
    int result = driver->pointer_get_attribute(&type, CUDA_POINTER_MEMORY_TYPE, memory);
    if (result == CUDA_INVALID_VALUE)
        return fail(err, HVD_ERR_INVALID, "0x%llx is not memory that the driver knows",
                    (unsigned long long)memory);
    if (result != CUDA_OK)
        return HVD_OK;
    driver->pointer_get_attribute(&managed, CUDA_POINTER_IS_MANAGED, memory);
    if (managed)
        return HVD_OK;
    if (type != CUDA_MEMORY_DEVICE)
        return fail(err, HVD_ERR_INVALID, "0x%llx is memory of the host, not of a GPU",
                    (unsigned long long)memory);
    result = driver->pointer_get_attribute(&ordinal, CUDA_POINTER_ORDINAL, memory);
    return result != CUDA_OK || ordinal == device->ordinal
               ? HVD_OK
               : fail(err, HVD_ERR_INVALID, "0x%llx is memory of GPU %d, the device is GPU %d",
                      (unsigned long long)memory, ordinal, device->ordinal);
}

int cuda_device_check(const struct cuda_device *device, const void *memory, size_t nbytes,
                      struct err *err)
{
    struct err failure;
    if (nbytes == 0 || cuda_device_enter(device, &failure) < 0)
        return HVD_OK;
    int rc = device_check_address(device, (uintptr_t)memory, err);
    if (rc == HVD_OK && nbytes > 1)
        rc = device_check_address(device, (uintptr_t)memory + nbytes - 1, err);
    cuda_device_leave(device);
    return rc;
}
