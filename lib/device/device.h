/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of this process (lib/hvd_device.h): their list, the calls to their vendors, and their
 * pinned memory and events, which the library keeps for reuse until the device is unregistered.
 *
 * Thread-safe. The library calls a vendor's functions under the device's lock, so one at a time.
 *
 * Fails with HVD_ERR_INVALID when a number is no device or the device is in use, with HVD_ERR_NOMEM
 * when there is no (pinned) memory, and with HVD_ERR_SYSTEM when a vendor's function fails, also
 * one that returns no memory because the device has failed; the text names the device and the
 * vendor's error number. */
#ifndef LIB_DEVICE_DEVICE_H
#define LIB_DEVICE_DEVICE_H

#include "lib/base/collective_kind.h"
#include "lib/base/status.h"
#include "lib/hvd_device.h"

#include <stdbool.h>
#include <stddef.h>

/* Bytes of pinned memory in one piece, and thus the unit of copying and moving. All ranks cut
 * tensors alike: the number is part of their protocol. A multiple of every element's size. */
enum { DEVICE_CHUNK = 1 << 20 };

/* Pieces that a device has before anything is submitted for it, so that the batches under way in
 * one process set (lib/engine/stage_impl.h) and a blocking copy do not wait for each other. */
enum { DEVICE_BUFFERS_LEAST = 8 };

struct device;

/* Checks that there is a table, with all functions. */
int device_check(const struct hvd_device *table, struct err *err);

/* Returns the number, or an error about the table. */
int device_register(const struct hvd_device *table, struct err *err);
int device_extend(int number, const struct hvd_device_extension *extension, struct err *err);
int device_unregister(int number, struct err *err);

/* A device is not unregistered until it has been released as often as it was held. NULL and `err`
 * when no device has this number. Releasing NULL is fine. */
struct device *device_hold(int number, struct err *err);
void device_release(struct device *device);

/* The functions below are for holders of the device. */

/* A piece of pinned memory with the event of its last copy; or an event alone. */
struct device_buffer {
    struct device *device;
    unsigned char *memory; /* DEVICE_CHUNK bytes; NULL: an event alone */
    void *event;
    struct device_buffer *next;
};

struct device_buffer *device_take_buffer(struct device *device, struct err *err);
struct device_buffer *device_take_event(struct device *device, struct err *err);

/* Gives a buffer back; its last recorded event has passed. NULL is fine. */
void device_put_buffer(struct device_buffer *buffer);

/* Gives up a buffer whose event has not passed: it is not used again. If its event has still not
 * passed when the device is unregistered, its memory is left to the vendor. With `recorded` false
 * the event does not tell. */
void device_lose_buffer(struct device_buffer *buffer, bool recorded);

/* Prepares for a tensor to be copied: makes sure that the device has DEVICE_BUFFERS_LEAST. */
int device_reserve(struct device *device, struct err *err);

/* Queued work and its event stand between begin and end: an event reports failures since the
 * previous event, so no other thread's work may come between. Nothing else is called there. */
void device_begin(struct device *device);
void device_end(struct device *device);

/* True if this thread is in a vendor's function. Then it holds the device's lock, and may hold the
 * engine's: it must take no other lock, not even in the handlers of exit(3). */
bool device_is_calling(void);

int device_copy_to_host(struct device *device, void *host, const void *memory, size_t nbytes,
                        struct err *err);
int device_copy_from_host(struct device *device, void *memory, const void *host, size_t nbytes,
                          struct err *err);
int device_reduce(struct device *device, const struct hvd_device_allreduce *allreduce,
                  struct err *err);
int device_collective(struct device *device, const struct hvd_device_collective *collective,
                      const char *verb, struct err *err);
int device_record(struct device_buffer *buffer, enum hvd_device_queue queue, struct err *err);

/* 1 when the event has passed, 0 when not yet. A failure is that of the event's work, which is then
 * over, too; `what` names the work: "copy to the host". */
int device_passed(struct device *device, void *event, const char *what, struct err *err);

/* HVD_ERR_INVALID if the vendor does not accept the memory; `which` is "input" or "output". */
int device_check_memory(struct device *device, const char *which, const void *memory, size_t nbytes,
                        struct err *err);

/* True if the devices can reduce this, or carry out this collective, among themselves. */
bool device_can_reduce(struct device *device, enum hvd_dtype dtype, enum hvd_op op,
                       int process_set);
bool device_can_collective(struct device *device, const struct hvd_device_collective *question);

/* The vendor's number of a collective; 0 if hvd_device.h has none for this kind. */
enum hvd_device_collective_kind device_collective_kind(enum collective_kind kind);

/* "reduce", "broadcast": what devices do that carry out this kind among themselves, for
 * messages. */
const char *device_collective_verb(enum collective_kind kind);

#endif
