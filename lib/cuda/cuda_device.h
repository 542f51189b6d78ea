/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU as a device of libhvd: the functions of struct hvd_device (lib/hvd_device.h) on the CUDA
 * driver.
 *
 *   open: choose the ordinal, retain the GPU's primary context, one stream for each queue
 *   each function: push the context, call the driver, pop the context; the caller's thread keeps
 *     the context that it had
 *   close: destroy the streams, release the primary context
 *
 * Frameworks use the primary context, too, so their pointers and events (CUevent) are good here.
 * Memory is that of the GPU, or managed; the memory of another GPU and of the host is refused.
 *
 * Opening fails with HVD_ERR_INVALID for an ordinal that does not exist, HVD_ERR_ENVIRONMENT when
 * the host has more ranks than GPUs, HVD_ERR_SYSTEM with the driver's words. Functions return the
 * driver's number, negated; the text of the last failure follows from error_text(). */
#ifndef LIB_CUDA_CUDA_DEVICE_H
#define LIB_CUDA_CUDA_DEVICE_H

#include "lib/cuda/driver.h"
#include "lib/device/device_module.h"

enum { CUDA_QUEUES = HVD_DEVICE_REDUCE + 1 };

struct cuda_reducer;

struct cuda_device {
    const struct cuda_driver *driver;
    int ordinal, gpu;
    int number;    /* of the registered device; 0: not yet */
    char name[32]; /* "cuda:0" */
    struct cuda_context *context;
    struct cuda_stream *streams[CUDA_QUEUES];

    struct cuda_reducer *reducer; /* NULL: the library reduces */

    /* The last failure of a function of the table; the library calls them one at a time. */
    int failed; /* what it returned */
    struct err err;
};

#define CUDA_ENV_VISIBLE "CUDA_VISIBLE_DEVICES"

int cuda_device_open(struct cuda_device *device, const struct device_module_options *options,
                     struct err *err);
void cuda_device_close(struct cuda_device *device);

/* The functions of the table and its extension. Their context is the struct cuda_device. */
void cuda_device_fill(struct cuda_device *device, struct hvd_device *table,
                      struct hvd_device_extension *extension);

/* Makes the GPU's context the current one of this thread until cuda_device_leave(). */
int cuda_device_enter(const struct cuda_device *device, struct err *err);
void cuda_device_leave(const struct cuda_device *device);

/* For programs that have no framework (hvd_cuda.h); from any thread. */
int cuda_device_describe(const struct cuda_device *device, int *ordinal, char *name, size_t size,
                         struct err *err);
int cuda_device_alloc(const struct cuda_device *device, size_t nbytes, void **memory,
                      struct err *err);
int cuda_device_free(const struct cuda_device *device, void *memory, struct err *err);
int cuda_device_copy(const struct cuda_device *device, void *to, const void *from, size_t nbytes,
                     struct err *err);

/* Fails unless all `nbytes` are memory of this GPU, or managed. If the driver itself fails, the
 * memory is accepted, and the first copy fails. */
int cuda_device_check(const struct cuda_device *device, const void *memory, size_t nbytes,
                      struct err *err);

#endif
