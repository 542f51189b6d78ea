/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of a GPU for programs that have no framework: allocate, free, copy; see cuda_device.h.
 *
 * A copy is put on the stream of copies to the GPU and waited for; it may begin and end anywhere,
 * also in host memory that the driver does not know. Fails with HVD_ERR_NOMEM when the GPU has not
 * so much memory left, else with HVD_ERR_SYSTEM, in the driver's words. */
#include "lib/cuda/cuda_device.h"

static int memory_answer(const struct cuda_device *device, int result, const char *call,
                         struct err *err)
{
    if (result == CUDA_OK)
        return HVD_OK;
    int rc = cuda_driver_fail(device->driver, result, call, err);
    if (result == CUDA_OUT_OF_MEMORY)
        rc = err->code = HVD_ERR_NOMEM;
    return rc;
}

int cuda_device_describe(const struct cuda_device *device, int *ordinal, char *name, size_t size,
                         struct err *err)
{
    *ordinal = device->ordinal;
    *name = name[size - 1] = '\0';
    int result = device->driver->device_get_name(name, (int)size - 1, device->gpu);
    return memory_answer(device, result, "cuDeviceGetName", err);
}

int cuda_device_alloc(const struct cuda_device *device, size_t nbytes, void **memory,
                      struct err *err)
{
    uint64_t address = 0;
    int rc = cuda_device_enter(device, err);
    if (rc < 0)
        return rc;
    int result = device->driver->mem_alloc(&address, nbytes);
    cuda_device_leave(device);
    *memory = (void *)(uintptr_t)address;
    return memory_answer(device, result, "cuMemAlloc", err);
}

int cuda_device_free(const struct cuda_device *device, void *memory, struct err *err)
{
    int rc = cuda_device_enter(device, err);
    if (rc < 0)
        return rc;
    int result = device->driver->mem_free((uintptr_t)memory);
    cuda_device_leave(device);
    return memory_answer(device, result, "cuMemFree", err);
}

int cuda_device_copy(const struct cuda_device *device, void *to, const void *from, size_t nbytes,
                     struct err *err)
{
    struct cuda_stream *stream = device->streams[HVD_DEVICE_FROM_HOST];
    const char *call = "cuMemcpyAsync";
    int rc = cuda_device_enter(device, err);
    if (rc < 0)
        return rc;
    int result = device->driver->copy((uintptr_t)to, (uintptr_t)from, nbytes, stream);
    if (result == CUDA_OK) {
        call = "cuStreamSynchronize";
        result = device->driver->stream_synchronize(stream);
    }
    cuda_device_leave(device);
    return memory_answer(device, result, call, err);
}
