/* SPDX-License-Identifier: Apache-2.0 */
/* The buffers and events of a device; see device.h. One is made when none is free, and kept until
 * the device is unregistered.
 *
 * When the vendor has no pinned memory left, the library does not ask the vendor again until a
 * buffer comes back or the next tensor begins, because a batch that waits for a buffer polls often.
 *
 * A buffer that the vendor never reported to be unused is lost: the library neither reuses nor
 * frees its memory, which stays with the vendor. */
#include "lib/device/device_impl.h"

#include <stdlib.h>

static void free_buffers(struct device *device, struct device_buffer *buffer)
{
    const struct hvd_device *table = &device->table;
    for (struct device_buffer *next; buffer; buffer = next) {
        next = buffer->next;
        if (buffer->event)
            table->destroy_event(table->context, buffer->event);
        if (buffer->memory)
            table->free_pinned(table->context, buffer->memory, DEVICE_CHUNK);
        free(buffer);
    }
}

/* The event and memory of a lost buffer that is still in use stay with the vendor; only the struct
 * is freed. */
static void free_lost(struct device *device)
{
    const struct hvd_device *table = &device->table;
    for (struct device_buffer *buffer = device->lost; buffer; buffer = buffer->next)
        if (!buffer->event || table->query_event(table->context, buffer->event) == 0) {
            buffer->event = NULL;
            buffer->memory = NULL;
        }
    free_buffers(device, device->lost);
}

void device_free_memory(struct device *device)
{
    device_begin(device);
    free_buffers(device, device->free);
    free_buffers(device, device->events);
    free_lost(device);
    device_end(device);
}

static void lacks(const struct device *device, const char *what, struct err *err)
{
    fail(err, HVD_ERR_NOMEM, "device %d (%s) has no %s left", device->number, device->name, what);
}

/* A function of the vendor's has just returned NULL: the device has failed, or it has none left. */
static void returned_null(const struct device *device, const char *call, const char *what,
                          struct err *err)
{
    int (*failure)(void *context) = device->extension.failure;
    int rc = failure ? failure(device->table.context) : 0;
    if (device_calls_answer(device, rc, call, err) == HVD_OK)
        lacks(device, what, err);
}

/* Called under the device's lock. */
static struct device_buffer *make_buffer(struct device *device, bool pinned, struct err *err)
{
    const struct hvd_device *table = &device->table;
    struct device_buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) {
        fail(err, HVD_ERR_NOMEM, "out of memory");
        return NULL;
    }
    buffer->device = device;
    buffer->event = table->create_event(table->context);
    if (buffer->event && pinned)
        buffer->memory = table->alloc_pinned(table->context, DEVICE_CHUNK);
    if (buffer->event && (buffer->memory || !pinned)) {
        device->buffers += pinned;
        return buffer;
    }
    if (buffer->event)
        returned_null(device, "allocate pinned memory", "pinned memory", err);
    else
        returned_null(device, "create an event", "event", err);
    free_buffers(device, buffer);
    return NULL;
}

static struct device_buffer *device_memory_take(struct device *device, bool pinned, struct err *err)
{
    device_begin(device);
    struct device_buffer **list = pinned ? &device->free : &device->events;
    struct device_buffer *buffer = *list;
    if (buffer)
        *list = buffer->next;
    else if (pinned && device->exhausted)
        lacks(device, "pinned memory", err);
    else
        buffer = make_buffer(device, pinned, err);
    device->exhausted |= pinned && device->buffers > 0 && !buffer;
    device_end(device);
    return buffer;
}

struct device_buffer *device_take_buffer(struct device *device, struct err *err)
{
    return device_memory_take(device, true, err);
}

struct device_buffer *device_take_event(struct device *device, struct err *err)
{
    return device_memory_take(device, false, err);
}

void device_put_buffer(struct device_buffer *buffer)
{
    if (!buffer)
        return;
    struct device *device = buffer->device;
    device_begin(device);
    struct device_buffer **list = buffer->memory ? &device->free : &device->events;
    device->exhausted = false;
    buffer->next = *list;
    *list = buffer;
    device_end(device);
}

void device_lose_buffer(struct device_buffer *buffer, bool recorded)
{
    struct device *device = buffer->device;
    const struct hvd_device *table = &device->table;
    device_begin(device);
    if (!recorded) {
        table->destroy_event(table->context, buffer->event);
        buffer->event = NULL;
    }
    device->buffers -= buffer->memory != NULL;
    buffer->next = device->lost;
    device->lost = buffer;
    device_end(device);
}

int device_reserve(struct device *device, struct err *err)
{
    int rc = HVD_OK;
    device_begin(device);
    device->exhausted = false;
    while (rc == HVD_OK && device->buffers < DEVICE_BUFFERS_LEAST) {
        struct device_buffer *buffer = make_buffer(device, true, err);
        if (!buffer) {
            rc = err->code;
            break;
        }
        buffer->next = device->free;
        device->free = buffer;
    }
    device_end(device);
    return rc;
}
