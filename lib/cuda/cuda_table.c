/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of struct hvd_device on the CUDA driver; see cuda_device.h.
 *
 * An event is the driver's own (CUevent), so that a caller can pass one of its framework as
 * hvd_tensor.ready. */
#include "lib/cuda/cuda_device.h"

#include "lib/cuda/reducer.h"

#include <stddef.h>

/* Keeps the text of a failure for error_text(), and returns its number. */
static int table_failed(struct cuda_device *device, int result, const char *call)
{
    cuda_driver_fail(device->driver, result, call, &device->err);
    return device->failed = -result;
}

/* What a function returns whose context could not be made current. */
static int table_enter(struct cuda_device *device)
{
    int result = device->driver->push(device->context);
    return result == CUDA_OK ? 0 : table_failed(device, result, "cuCtxPushCurrent");
}

static int table_leave(struct cuda_device *device, int result, const char *call)
{
    cuda_device_leave(device);
    return result == CUDA_OK ? 0 : table_failed(device, result, call);
}

static void *cuda_alloc_pinned(void *context, size_t nbytes)
{
    struct cuda_device *device = context;
    void *memory = NULL;
    if (table_enter(device) < 0)
        return NULL;
    int result = device->driver->host_alloc(&memory, nbytes, CUDA_HOST_ALLOC_PORTABLE);
    return table_leave(device, result, "cuMemHostAlloc") < 0 ? NULL : memory;
}

static void cuda_free_pinned(void *context, void *memory, size_t nbytes)
{
    struct cuda_device *device = context;
    (void)nbytes;
    if (table_enter(device) == 0)
        table_leave(device, device->driver->host_free(memory), "cuMemFreeHost");
}

static int cuda_copy_to_host(void *context, void *host, const void *memory, size_t nbytes)
{
    struct cuda_device *device = context;
    int rc = table_enter(device);
    if (rc < 0)
        return rc;
    int result = device->driver->copy_to_host(host, (uintptr_t)memory, nbytes,
                                              device->streams[HVD_DEVICE_TO_HOST]);
    return table_leave(device, result, "cuMemcpyDtoHAsync");
}

static int cuda_copy_from_host(void *context, void *memory, const void *host, size_t nbytes)
{
    struct cuda_device *device = context;
    int rc = table_enter(device);
    if (rc < 0)
        return rc;
    int result = device->driver->copy_from_host((uintptr_t)memory, host, nbytes,
                                                device->streams[HVD_DEVICE_FROM_HOST]);
    return table_leave(device, result, "cuMemcpyHtoDAsync");
}

static void *cuda_create_event(void *context)
{
    struct cuda_device *device = context;
    struct cuda_event *event = NULL;
    if (table_enter(device) < 0)
        return NULL;
    int result = device->driver->event_create(&event, CUDA_EVENT_DISABLE_TIMING);
    return table_leave(device, result, "cuEventCreate") < 0 ? NULL : event;
}

static void cuda_destroy_event(void *context, void *event)
{
    struct cuda_device *device = context;
    if (device->reducer)
        cuda_reducer_forget(device->reducer, event);
    if (table_enter(device) == 0)
        table_leave(device, device->driver->event_destroy(event), "cuEventDestroy");
}

static int cuda_record_event(void *context, void *event, enum hvd_device_queue queue)
{
    struct cuda_device *device = context;
    if (queue == HVD_DEVICE_REDUCE && device->reducer)
        return device->failed = cuda_reducer_record(device->reducer, event, &device->err);
    int rc = table_enter(device);
    if (rc < 0)
        return rc;
    int result = device->driver->event_record(event, device->streams[queue]);
    return table_leave(device, result, "cuEventRecord");
}

static int cuda_query_event(void *context, void *event)
{
    struct cuda_device *device = context;
    int rc = device->reducer ? cuda_reducer_query(device->reducer, event, &device->err) : 1;
    if (rc <= 0)
        return device->failed = rc;
    rc = table_enter(device);
    if (rc < 0)
        return rc;
    int result = device->driver->event_query(event);
    if (result == CUDA_NOT_READY) {
        cuda_device_leave(device);
        return 0;
    }
    rc = table_leave(device, result, "cuEventQuery");
    if (rc < 0 && device->reducer)
        cuda_reducer_forget(device->reducer, event);
    if (rc < 0 || !device->reducer)
        return rc < 0 ? rc : 1;
    rc = cuda_reducer_passed(device->reducer, event, &device->err);
    if (rc < 0)
        device->failed = rc;
    return rc;
}

static int cuda_can_allreduce(void *context, enum hvd_dtype dtype, enum hvd_op op, int process_set)
{
    const struct cuda_device *device = context;
    (void)process_set;
    return cuda_reducer_can(device->reducer, dtype, op);
}

static int cuda_allreduce(void *context, const struct hvd_device_allreduce *allreduce)
{
    struct cuda_device *device = context;
    return device->failed = cuda_reducer_put(device->reducer, allreduce, &device->err);
}

static int cuda_can_collective(void *context, const struct hvd_device_collective *question)
{
    const struct cuda_device *device = context;
    return cuda_reducer_can_collective(device->reducer, question);
}

static int cuda_collective(void *context, const struct hvd_device_collective *collective)
{
    struct cuda_device *device = context;
    return device->failed = cuda_reducer_put_collective(device->reducer, collective, &device->err);
}

/* Memory and events that are NULL have left their failure here. */
static int cuda_failure(void *context)
{
    const struct cuda_device *device = context;
    return device->failed == -CUDA_OUT_OF_MEMORY ? 0 : device->failed;
}

static int cuda_check_memory(void *context, const void *memory, size_t nbytes)
{
    struct cuda_device *device = context;
    int rc = cuda_device_check(device, memory, nbytes, &device->err);
    return device->failed = rc;
}

static const char *cuda_error_text(void *context, int error)
{
    const struct cuda_device *device = context;
    return device->failed == error ? device->err.text : NULL;
}

void cuda_device_fill(struct cuda_device *device, struct hvd_device *table,
                      struct hvd_device_extension *extension)
{
    *table = (struct hvd_device){
        .name = device->name,
        .context = device,
        .alloc_pinned = cuda_alloc_pinned,
        .free_pinned = cuda_free_pinned,
        .copy_to_host = cuda_copy_to_host,
        .copy_from_host = cuda_copy_from_host,
        .create_event = cuda_create_event,
        .destroy_event = cuda_destroy_event,
        .record_event = cuda_record_event,
        .query_event = cuda_query_event,
        .can_allreduce = cuda_can_allreduce,
        .allreduce = cuda_allreduce,
        .check_memory = cuda_check_memory,
        .error_text = cuda_error_text,
    };
    *extension = (struct hvd_device_extension){
        .size = sizeof *extension,
        .failure = cuda_failure,
        .can_collective = cuda_can_collective,
        .collective = cuda_collective,
    };
}
