/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: a list of those that are registered, and for each a lock, free buffers and free events;
 * see device.h.
 *
 *   registered (held and released, buffers taken and put back) -> unregistered: all of that is freed
 *
 * A buffer that the vendor never said to be done with is lost: not used again, and its memory is left
 * to the vendor. */
#include "lib/device/device.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 31 };

struct device {
    int number;
    char name[4 * NAME_MAX_BYTES + 1]; /* escaped */
    struct hvd_device table;
    pthread_mutex_t lock;       /* of what follows, and of the vendor's functions */
    struct device_buffer *free; /* with pinned memory */
    struct device_buffer *events;
    struct device_buffer *lost;
    bool has_buffers;

    /* Under the list's lock. */
    int held;
    struct device *next;
};

static struct {
    pthread_mutex_t lock;
    struct device *first;
    int last_number;
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the list ---- */

/* What the table lacks, or NULL. */
static const char *missing(const struct hvd_device *table)
{
    const struct {
        const char *name;
        bool there;
    } needed[] = {
        { "name", table->name },
        { "alloc_pinned", table->alloc_pinned },
        { "free_pinned", table->free_pinned },
        { "copy_to_host", table->copy_to_host },
        { "copy_from_host", table->copy_from_host },
        { "create_event", table->create_event },
        { "destroy_event", table->destroy_event },
        { "record_event", table->record_event },
        { "query_event", table->query_event },
        { "can_allreduce", table->can_allreduce || !table->allreduce },
        { "allreduce", table->allreduce || !table->can_allreduce },
    };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].there)
            return needed[i].name;
    return NULL;
}

static void list_device(struct device *device)
{
    pthread_mutex_lock(&devices.lock);
    device->number = ++devices.last_number;
    device->next = devices.first;
    devices.first = device;
    pthread_mutex_unlock(&devices.lock);
}

int device_register(const struct hvd_device *table, struct err *err)
{
    const char *lacks = table ? missing(table) : NULL;
    if (!table || lacks)
        return fail(err, HVD_ERR_INVALID, "register device: %s%s is NULL", table ? "" : "device",
                    table ? lacks : "");
    struct device *device = calloc(1, sizeof *device);
    if (!device)
        return fail(err, HVD_ERR_NOMEM, "register device: out of memory");
    quote_token(device->name, sizeof device->name, table->name,
                strnlen(table->name, NAME_MAX_BYTES));
    device->table = *table;
    device->table.name = device->name;
    pthread_mutex_init(&device->lock, NULL);
    list_device(device);
    return device->number;
}

/* Where the device of a number is linked from; what it points to is NULL if there is none. */
static struct device **find(int number)
{
    struct device **link = &devices.first;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

struct device *device_hold(int number, struct err *err)
{
    pthread_mutex_lock(&devices.lock);
    struct device *device = *find(number);
    if (device)
        device->held++;
    pthread_mutex_unlock(&devices.lock);
    if (!device)
        fail(err, HVD_ERR_INVALID, "there is no device %d", number);
    return device;
}

void device_release(struct device *device)
{
    if (!device)
        return;
    pthread_mutex_lock(&devices.lock);
    device->held--;
    pthread_mutex_unlock(&devices.lock);
}

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

/* Those that are still in use have nothing but themselves that is ours. */
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

int device_unregister(int number, struct err *err)
{
    pthread_mutex_lock(&devices.lock);
    struct device **link = find(number), *device = *link;
    int held = device ? device->held : 0;
    if (device && held == 0)
        *link = device->next;
    pthread_mutex_unlock(&devices.lock);
    if (!device)
        return fail(err, HVD_ERR_INVALID, "unregister device: there is no device %d", number);
    if (held > 0)
        return fail(err, HVD_ERR_INVALID, "unregister device: device %d (%s) is in use", number,
                    device->name);
    free_buffers(device, device->free);
    free_buffers(device, device->events);
    free_lost(device);
    pthread_mutex_destroy(&device->lock);
    free(device);
    return HVD_OK;
}

/* ---- buffers and events; under the device's lock ---- */

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
    if (buffer->event && (buffer->memory || !pinned))
        return buffer;
    fail(err, HVD_ERR_NOMEM, "device %d (%s) has no %s", device->number, device->name,
         buffer->event ? "pinned memory left" : "event left");
    free_buffers(device, buffer);
    return NULL;
}

static struct device_buffer *take(struct device *device, bool pinned, struct err *err)
{
    pthread_mutex_lock(&device->lock);
    struct device_buffer **list = pinned ? &device->free : &device->events;
    struct device_buffer *buffer = *list;
    if (buffer)
        *list = buffer->next;
    else
        buffer = make_buffer(device, pinned, err);
    device->has_buffers |= pinned && buffer;
    pthread_mutex_unlock(&device->lock);
    return buffer;
}

struct device_buffer *device_take_buffer(struct device *device, struct err *err)
{
    return take(device, true, err);
}

struct device_buffer *device_take_event(struct device *device, struct err *err)
{
    return take(device, false, err);
}

void device_put_buffer(struct device_buffer *buffer)
{
    if (!buffer)
        return;
    struct device *device = buffer->device;
    pthread_mutex_lock(&device->lock);
    struct device_buffer **list = buffer->memory ? &device->free : &device->events;
    buffer->next = *list;
    *list = buffer;
    pthread_mutex_unlock(&device->lock);
}

void device_lose_buffer(struct device_buffer *buffer, bool recorded)
{
    struct device *device = buffer->device;
    const struct hvd_device *table = &device->table;
    pthread_mutex_lock(&device->lock);
    if (!recorded) {
        table->destroy_event(table->context, buffer->event);
        buffer->event = NULL;
    }
    buffer->next = device->lost;
    device->lost = buffer;
    pthread_mutex_unlock(&device->lock);
}

int device_reserve(struct device *device, struct err *err)
{
    pthread_mutex_lock(&device->lock);
    bool has_buffers = device->has_buffers;
    pthread_mutex_unlock(&device->lock);
    if (has_buffers)
        return HVD_OK;
    struct device_buffer *buffer = device_take_buffer(device, err);
    device_put_buffer(buffer);
    return buffer ? HVD_OK : err->code;
}

/* ---- what the vendor does ---- */

static int answer(const struct device *device, int rc, const char *what, struct err *err)
{
    if (rc >= 0)
        return HVD_OK;
    return fail(err, HVD_ERR_SYSTEM, "device %d (%s) failed to %s (%d)", device->number,
                device->name, what, rc);
}

int device_copy_to_host(struct device *device, void *host, const void *memory, size_t nbytes,
                        struct err *err)
{
    const struct hvd_device *table = &device->table;
    pthread_mutex_lock(&device->lock);
    int rc = table->copy_to_host(table->context, host, memory, nbytes);
    pthread_mutex_unlock(&device->lock);
    return answer(device, rc, "copy to the host", err);
}

int device_copy_from_host(struct device *device, void *memory, const void *host, size_t nbytes,
                          struct err *err)
{
    const struct hvd_device *table = &device->table;
    pthread_mutex_lock(&device->lock);
    int rc = table->copy_from_host(table->context, memory, host, nbytes);
    pthread_mutex_unlock(&device->lock);
    return answer(device, rc, "copy from the host", err);
}

int device_record(struct device_buffer *buffer, enum hvd_device_queue queue, struct err *err)
{
    struct device *device = buffer->device;
    const struct hvd_device *table = &device->table;
    pthread_mutex_lock(&device->lock);
    int rc = table->record_event(table->context, buffer->event, queue);
    pthread_mutex_unlock(&device->lock);
    return answer(device, rc, "record an event", err);
}

int device_passed(struct device *device, void *event, const char *what, struct err *err)
{
    const struct hvd_device *table = &device->table;
    pthread_mutex_lock(&device->lock);
    int rc = table->query_event(table->context, event);
    pthread_mutex_unlock(&device->lock);
    return rc < 0 ? answer(device, rc, what, err) : rc > 0;
}

bool device_can_reduce(struct device *device, enum hvd_dtype dtype, enum hvd_op op, int process_set)
{
    const struct hvd_device *table = &device->table;
    if (!table->can_allreduce)
        return false;
    pthread_mutex_lock(&device->lock);
    int rc = table->can_allreduce(table->context, dtype, op, process_set);
    pthread_mutex_unlock(&device->lock);
    return rc == 1;
}

int device_reduce(struct device *device, const struct hvd_device_allreduce *allreduce,
                  struct err *err)
{
    const struct hvd_device *table = &device->table;
    pthread_mutex_lock(&device->lock);
    int rc = table->allreduce(table->context, allreduce);
    pthread_mutex_unlock(&device->lock);
    return answer(device, rc, "reduce", err);
}
