/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's own memory that others open; see ipc.h.
 *
 *   allocate, export, lock -> in use -> retired -> freed when nobody else has it open
 *
 * NVIDIA's manual leaves undefined what comes of memory that is freed while another process has it
 * open. A process that does not close it, because it is stopped, keeps it allocated. */
#include "lib/cuda/reducer_impl.h"

#include <stdlib.h>
#include <time.h>

static int buffer_allocate(struct ipc_buffer *buffer, const struct cuda_device *device,
                           struct err *err)
{
    const struct cuda_driver *driver = device->driver;
    int result = driver->mem_alloc(&buffer->memory, 2 * (size_t)IPC_HALF);
    if (result != CUDA_OK) {
        buffer->memory = 0;
        return cuda_driver_fail(driver, result, "cuMemAlloc", err);
    }
    result = driver->ipc_get_handle(&buffer->handle, buffer->memory);
    if (result != CUDA_OK)
        return cuda_driver_fail(driver, result, "cuIpcGetMemHandle", err);
    buffer->lock = ipc_lock_create(&buffer->id, err);
    return buffer->lock < 0 ? buffer->lock : HVD_OK;
}

static void buffer_free(struct ipc_buffer *buffer, const struct cuda_device *device)
{
    if (buffer->memory)
        device->driver->mem_free(buffer->memory);
    ipc_lock_close(buffer->lock);
    free(buffer);
}

struct ipc_buffer *ipc_buffer_create(const struct cuda_device *device, struct err *err)
{
    struct ipc_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    buffer->lock = -1;
    if (buffer_allocate(buffer, device, err) == HVD_OK)
        return buffer;
    buffer_free(buffer, device);
    return NULL;
}

void ipc_buffer_retire(struct cuda_reducer *reducer, struct ipc_buffer *buffer)
{
    if (!buffer)
        return;
    pthread_mutex_lock(&reducer->lock);
    buffer->next = reducer->retired;
    reducer->retired = buffer;
    pthread_mutex_unlock(&reducer->lock);
}

/* Takes one that can be freed out of the list, or any at all; NULL when there is none. */
static struct ipc_buffer *buffers_take(struct cuda_reducer *reducer, bool any)
{
    pthread_mutex_lock(&reducer->lock);
    struct ipc_buffer **link = &reducer->retired;
    while (*link && !any && !ipc_lock_is_free((*link)->lock))
        link = &(*link)->next;
    struct ipc_buffer *buffer = *link;
    if (buffer)
        *link = buffer->next;
    pthread_mutex_unlock(&reducer->lock);
    return buffer;
}

/* True if there are some, and the driver would not wait for work that does not end. */
static bool buffers_can_go(struct cuda_reducer *reducer)
{
    pthread_mutex_lock(&reducer->lock);
    bool has_some = reducer->retired;
    pthread_mutex_unlock(&reducer->lock);
    return has_some && !cuda_reducer_is_stuck(reducer);
}

void ipc_buffers_free(struct cuda_reducer *reducer, int wait_ms)
{
    struct ipc_buffer *buffer;
    for (int waited_ms = 0; buffers_can_go(reducer); waited_ms++) {
        while ((buffer = buffers_take(reducer, false)))
            buffer_free(buffer, reducer->device);
        if (waited_ms == wait_ms)
            break;
        nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
    }
}

void ipc_buffers_leave(struct cuda_reducer *reducer)
{
    struct ipc_buffer *buffer;
    while ((buffer = buffers_take(reducer, true))) {
        ipc_lock_close(buffer->lock);
        free(buffer);
    }
}
