/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of device.h share. */
#ifndef LIB_DEVICE_DEVICE_IMPL_H
#define LIB_DEVICE_DEVICE_IMPL_H

#include "lib/device/device.h"

#include <pthread.h>

enum { DEVICE_NAME = 31 }; /* bytes */

struct device {
    int number;
    char name[4 * DEVICE_NAME + 1]; /* escaped */
    struct hvd_device table;
    struct hvd_device_extension extension; /* NULL: functions that the vendor does not have */
    pthread_mutex_t lock;                  /* for the members below, and the vendor's functions */
    struct device_buffer *free;            /* with pinned memory */
    struct device_buffer *events;
    struct device_buffer *lost;
    int buffers;    /* with pinned memory, in use or not */
    bool exhausted; /* has buffers, but no pinned memory for more */

    /* Protected by the list's lock. */
    int held;
    struct device *next;
};

/* device_memory.c: frees everything; the device has no holder any more. */
void device_free_memory(struct device *device);

/* device_calls.c: HVD_ERR_SYSTEM if the vendor's number `rc` is negative. Under the device's
 * lock. */
int device_calls_answer(const struct device *device, int rc, const char *what, struct err *err);

#endif
