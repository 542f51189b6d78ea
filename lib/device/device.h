/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of this process (lib/hvd_device.h): their list, the calls to their vendors, and their
 * pinned memory and events, which the library keeps for reuse until the device is unregistered.
 *
 * Thread-safe. The library calls a vendor's functions under the device's lock, so one at a time.
 *
 * Fails with HVD_ERR_INVALID when a number is no device or the device is in use, with HVD_ERR_NOMEM
 * when there is no (pinned) memory, and with HVD_ERR_SYSTEM when a vendor's function fails; the
 * text names the device and the vendor's error number. */
#ifndef LIB_DEVICE_DEVICE_H
#define LIB_DEVICE_DEVICE_H

#include "lib/base/status.h"
#include "lib/hvd_device.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of pinned memory in one piece, and so what is copied and moved at a time. All ranks cut
 * tensors alike: the number is part of what they say to each other. A multiple of every element's
 * size. */
enum { DEVICE_CHUNK = 1 << 20 };

/* Pieces that a device has before anything is submitted for it: what is under way in one process
 * set (lib/engine/stage_impl.h) and a blocking copy do not wait for each other then. */
enum { DEVICE_BUFFERS_LEAST = 8 };

struct device;

/* Is there a table, with all functions? */
int device_check(const struct hvd_device *table, struct err *err);

/* Returns the number, or what is wrong with the table. */
int device_register(const struct hvd_device *table, struct err *err);
int device_unregister(int number, struct err *err);

/* Until it is released as often as it was held the device is not unregistered. NULL and `err` when
 * there is none of this number. Releasing NULL is fine. */
struct device *device_hold(int number, struct err *err);
void device_release(struct device *device);

/* What follows is for those who hold the device. */

/* A piece of pinned memory with the event of what is copied through it; or an event alone. */
struct device_buffer {
    struct device *device;
    unsigned char *memory; /* DEVICE_CHUNK bytes; NULL: an event alone */
    void *event;
    struct device_buffer *next;
};

struct device_buffer *device_take_buffer(struct device *device, struct err *err);
struct device_buffer *device_take_event(struct device *device, struct err *err);

/* What was recorded last has passed. NULL is fine. */
void device_put_buffer(struct device_buffer *buffer);

/* It has not, and nobody will ask any more: it is not used again, and its memory is left to the
 * vendor if that is still so when the device is unregistered. With `recorded` false the event does
 * not tell. */
void device_lose_buffer(struct device_buffer *buffer, bool recorded);

/* There will be a tensor to be copied. Sees to it that the device has DEVICE_BUFFERS_LEAST. */
int device_reserve(struct device *device, struct err *err);

/* What is put on a queue, and the event that stands for it, between begin and end: an event tells
 * of failures since the one before, so nobody else's may come between. Nothing else is called
 * there. */
void device_begin(struct device *device);
void device_end(struct device *device);

/* Is this thread in a vendor's function? It holds the device's lock then, and may hold the
 * engine's: it must take no other, not even in the handlers of exit(3). */
bool device_is_calling(void);

int device_copy_to_host(struct device *device, void *host, const void *memory, size_t nbytes,
                        struct err *err);
int device_copy_from_host(struct device *device, void *memory, const void *host, size_t nbytes,
                          struct err *err);
int device_reduce(struct device *device, const struct hvd_device_allreduce *allreduce,
                  struct err *err);
int device_record(struct device_buffer *buffer, enum hvd_device_queue queue, struct err *err);

/* 1 when the event has passed, 0 when not yet; a failure is that of what the event stands for,
 * which is then over, too: `what` says what that was, "copy to the host". */
int device_passed(struct device *device, void *event, const char *what, struct err *err);

/* Can the devices reduce this among themselves? */
bool device_can_reduce(struct device *device, enum hvd_dtype dtype, enum hvd_op op,
                       int process_set);

#endif
