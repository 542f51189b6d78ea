/* SPDX-License-Identifier: Apache-2.0 */
/* The list of devices; see device.h.
 *
 *   registered -> held and released -> unregistered, while it has no holder */
#include "lib/device/device_impl.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static struct {
    pthread_mutex_t lock;
    struct device *first;
    int last_number;
} devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The function that the table lacks, or NULL. */
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

int device_check(const struct hvd_device *table, struct err *err)
{
    const char *lacks = table ? missing(table) : "device";
    return lacks ? fail(err, HVD_ERR_INVALID, "register device: %s is NULL", lacks) : HVD_OK;
}

int device_register(const struct hvd_device *table, struct err *err)
{
    int rc = device_check(table, err);
    if (rc < 0)
        return rc;
    struct device *device = calloc(1, sizeof *device);
    if (!device)
        return fail(err, HVD_ERR_NOMEM, "register device: out of memory");
    quote_token(device->name, sizeof device->name, table->name, strnlen(table->name, DEVICE_NAME));
    device->table = *table;
    device->table.name = device->name;
    pthread_mutex_init(&device->lock, NULL);
    list_device(device);
    return device->number;
}

/* The pointer in the list to the device of a number; it points to NULL if there is none. */
static struct device **device_find(int number)
{
    struct device **link = &devices.first;
    while (*link && (*link)->number != number)
        link = &(*link)->next;
    return link;
}

struct device *device_hold(int number, struct err *err)
{
    pthread_mutex_lock(&devices.lock);
    struct device *device = *device_find(number);
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

/* What a vendor's older or newer header has: functions that only one side knows are left out. */
static int extension_read(struct hvd_device_extension *known,
                          const struct hvd_device_extension *given, struct err *err)
{
    const size_t least = offsetof(struct hvd_device_extension, failure) + sizeof given->failure;
    if (!given)
        return fail(err, HVD_ERR_INVALID, "extend device: extension is NULL");
    if (given->size < least)
        return fail(err, HVD_ERR_INVALID, "extend device: size is %zu, at least %zu are needed",
                    given->size, least);
    *known = (struct hvd_device_extension){ .size = sizeof *known };
    memcpy(known, given, given->size < sizeof *known ? given->size : sizeof *known);
    if (!known->can_collective == !known->collective)
        return HVD_OK;
    return fail(err, HVD_ERR_INVALID, "extend device: %s is NULL",
                known->collective ? "can_collective" : "collective");
}

int device_extend(int number, const struct hvd_device_extension *extension, struct err *err)
{
    struct hvd_device_extension known = { 0 };
    int rc = extension_read(&known, extension, err);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&devices.lock);
    struct device *device = *device_find(number);
    if (!device)
        rc = fail(err, HVD_ERR_INVALID, "extend device: there is no device %d", number);
    else if (device->held > 0)
        rc = fail(err, HVD_ERR_INVALID, "extend device: device %d (%s) is in use", number,
                  device->name);
    else
        device->extension = known;
    pthread_mutex_unlock(&devices.lock);
    return rc;
}

int device_unregister(int number, struct err *err)
{
    pthread_mutex_lock(&devices.lock);
    struct device **link = device_find(number), *device = *link;
    int rc = HVD_OK;
    if (!device)
        rc = fail(err, HVD_ERR_INVALID, "unregister device: there is no device %d", number);
    else if (device->held > 0)
        rc = fail(err, HVD_ERR_INVALID, "unregister device: device %d (%s) is in use", number,
                  device->name);
    else
        *link = device->next;
    pthread_mutex_unlock(&devices.lock);
    if (rc < 0)
        return rc;
    device_free_memory(device);
    pthread_mutex_destroy(&device->lock);
    free(device);
    return HVD_OK;
}
