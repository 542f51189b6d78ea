/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of a vendor's functions, one at a time, and the meaning of their results; see device.h. */
#include "lib/device/device_impl.h"

#include "lib/base/text.h"

#include <stdatomic.h>
#include <stdio.h>

enum { DEVICE_TEXT = 300 };

/* What the vendor says about its error, or "". */
static const char *device_calls_text(const struct device *device, int error, char line[DEVICE_TEXT])
{
    const struct hvd_device *table = &device->table;
    const char *text = table->error_text ? table->error_text(table->context, error) : NULL;
    snprintf(line, DEVICE_TEXT, "%s", text ? text : "");
    text_make_line(line);
    return line;
}

int device_calls_answer(const struct device *device, int rc, const char *what, struct err *err)
{
    char line[DEVICE_TEXT];
    if (rc >= 0)
        return HVD_OK;
    const char *text = device_calls_text(device, rc, line);
    return fail(err, HVD_ERR_SYSTEM, "device %d (%s) failed to %s (%d)%s%s", device->number,
                device->name, what, rc, *text ? ": " : "", text);
}

static _Thread_local bool calling; /* this thread is, or may be, in a vendor's function */
static atomic_bool have_called;    /* whether any thread has been; faster to read */

void device_begin(struct device *device)
{
    pthread_mutex_lock(&device->lock);
    calling = true;
    atomic_store_explicit(&have_called, true, memory_order_relaxed);
}

void device_end(struct device *device)
{
    calling = false;
    pthread_mutex_unlock(&device->lock);
}

bool device_is_calling(void)
{
    return atomic_load_explicit(&have_called, memory_order_relaxed) && calling;
}

int device_copy_to_host(struct device *device, void *host, const void *memory, size_t nbytes,
                        struct err *err)
{
    const struct hvd_device *table = &device->table;
    int rc = table->copy_to_host(table->context, host, memory, nbytes);
    return device_calls_answer(device, rc, "copy to the host", err);
}

int device_copy_from_host(struct device *device, void *memory, const void *host, size_t nbytes,
                          struct err *err)
{
    const struct hvd_device *table = &device->table;
    int rc = table->copy_from_host(table->context, memory, host, nbytes);
    return device_calls_answer(device, rc, "copy from the host", err);
}

int device_record(struct device_buffer *buffer, enum hvd_device_queue queue, struct err *err)
{
    struct device *device = buffer->device;
    const struct hvd_device *table = &device->table;
    int rc = table->record_event(table->context, buffer->event, queue);
    return device_calls_answer(device, rc, "record an event", err);
}

int device_passed(struct device *device, void *event, const char *what, struct err *err)
{
    const struct hvd_device *table = &device->table;
    device_begin(device);
    int rc = table->query_event(table->context, event);
    int answer = device_calls_answer(device, rc, what, err);
    device_end(device);
    return rc < 0 ? answer : rc > 0;
}

bool device_can_reduce(struct device *device, enum hvd_dtype dtype, enum hvd_op op, int process_set)
{
    const struct hvd_device *table = &device->table;
    if (!table->can_allreduce)
        return false;
    device_begin(device);
    int rc = table->can_allreduce(table->context, dtype, op, process_set);
    device_end(device);
    return rc == 1;
}

/* What devices do among themselves; other kinds have no verb. */
static const struct {
    enum hvd_device_collective_kind kind; /* of the question */
    const char *verb;
} device_kinds[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = { HVD_DEVICE_ALLREDUCE, "reduce" },
    [COLLECTIVE_BROADCAST] = { HVD_DEVICE_BROADCAST, "broadcast" },
    [COLLECTIVE_ALLGATHER] = { HVD_DEVICE_ALLGATHER, "gather" },
    [COLLECTIVE_REDUCESCATTER] = { HVD_DEVICE_REDUCESCATTER, "reduce and scatter" },
    [COLLECTIVE_ALLTOALL] = { HVD_DEVICE_ALLTOALL, "exchange" },
};

enum hvd_device_collective_kind device_collective_kind(enum collective_kind kind)
{
    return device_kinds[kind].kind;
}

const char *device_collective_verb(enum collective_kind kind)
{
    return device_kinds[kind].verb;
}

bool device_can_collective(struct device *device, const struct hvd_device_collective *question)
{
    const struct hvd_device_extension *extension = &device->extension;
    if (!extension->can_collective || question->kind == 0)
        return false;
    if (question->kind == HVD_DEVICE_ALLREDUCE && !device->table.allreduce)
        return false;
    device_begin(device);
    int rc = extension->can_collective(device->table.context, question);
    device_end(device);
    return rc == 1;
}

int device_reduce(struct device *device, const struct hvd_device_allreduce *allreduce,
                  struct err *err)
{
    const struct hvd_device *table = &device->table;
    int rc = table->allreduce(table->context, allreduce);
    return device_calls_answer(device, rc, "reduce", err);
}

int device_collective(struct device *device, const struct hvd_device_collective *collective,
                      const char *verb, struct err *err)
{
    int rc = device->extension.collective(device->table.context, collective);
    return device_calls_answer(device, rc, verb, err);
}

int device_check_memory(struct device *device, const char *which, const void *memory, size_t nbytes,
                        struct err *err)
{
    char line[DEVICE_TEXT];
    const struct hvd_device *table = &device->table;
    if (!table->check_memory || nbytes == 0)
        return HVD_OK;
    device_begin(device);
    int rc = table->check_memory(table->context, memory, nbytes);
    const char *text = rc < 0 ? device_calls_text(device, rc, line) : "";
    device_end(device);
    if (rc >= 0)
        return HVD_OK;
    return fail(err, HVD_ERR_INVALID, "%s is not memory of device %d (%s) (%d)%s%s", which,
                device->number, device->name, rc, *text ? ": " : "", text);
}
