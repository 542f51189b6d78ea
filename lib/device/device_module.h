/* SPDX-License-Identifier: Apache-2.0 */
/* The contract between libhvd and a module that fills in the table of a device (hvd_device.h) for
 * a vendor: hvd_cuda.so, which libhvd loads when a program or HVD_DEVICE wants it.
 *
 * The module exports one function, hvd_device_module(), and links nothing of libhvd: what it needs
 * is handed to it. Both come from one source tree and are installed together; the version refuses a
 * module that was left from another installation. */
#ifndef LIB_DEVICE_DEVICE_MODULE_H
#define LIB_DEVICE_DEVICE_MODULE_H

#include "lib/base/status.h"
#include "lib/hvd_device.h"

/* Changes with any struct below, hvd_device.h or struct err. */
enum { DEVICE_MODULE_VERSION = 9 };

#define DEVICE_MODULE_SYMBOL "hvd_device_module"

/* Public calls of libhvd, for a thread of the module's own; not for functions of the table. */
struct device_module_library {
    int (*allgather)(const struct hvd_tensor *tensor, const struct hvd_options *options,
                     struct hvd_result *result);
    int (*allreduce)(const struct hvd_tensor *tensor, enum hvd_op op,
                     const struct hvd_options *options);
    int (*alltoall)(const struct hvd_tensor *tensor, const int64_t *splits, int nsplits,
                    const struct hvd_options *options, struct hvd_result *result);
    int (*alltoall_async)(const struct hvd_tensor *tensor, const int64_t *splits, int nsplits,
                          const struct hvd_options *options, int64_t *handle);
    int (*wait)(int64_t handle);
    int (*broadcast)(const struct hvd_tensor *tensor, int root, const struct hvd_options *options);
    int (*reducescatter)(const struct hvd_tensor *tensor, enum hvd_op op,
                         const struct hvd_options *options);
    int (*process_set_ranks)(int process_set, int *ranks, int capacity);
    int (*process_set_rank)(int process_set);
    int (*process_set_serial)(int process_set); /* of all that the world has had: never reused */

    /* 1: a rank of the set has left, so the set will begin no more collectives; also for a set that
     * is not there. Fast until a set ends. */
    int (*process_set_has_ended)(int process_set, int serial);
    size_t (*dtype_size)(enum hvd_dtype dtype);
    int (*epoch)(void);
    const char *(*last_error)(void);
    int (*world_is_broken)(void); /* 1 when there is no world, or it has lost a rank; else 0 */
    void (*log_info)(const char *text); /* a line at info level */
};

struct device_module_options {
    int ordinal;    /* of the accelerator; -1: by local rank */
    int local_rank; /* -1: not known, which needs an ordinal */
    int local_size; /* for messages */
    const struct device_module_library *library;
    const char *(*get)(const char *name); /* getenv() */
};

struct device_module {
    int version;

    /* Fills in the table and its extension. The context is the module's, until close(). */
    int (*open)(const struct device_module_options *options, struct hvd_device *table,
                struct hvd_device_extension *extension, struct err *err);

    /* Tells the device's number, once it is registered. */
    void (*number)(void *context, int device);

    /* A process set was removed, after this rank's collectives in it; its number may be that of
     * another set by now, with another serial. What the device has for the set can go. May wait,
     * but not for other ranks without end. */
    void (*set_removed)(void *context, int process_set, int serial);

    /* After the device was unregistered. NULL is fine. */
    void (*close)(void *context);

    /* For programs, from any thread, but not beside open() and close(): what the accelerator is;
     * its memory; a copy in any direction, between its memory and the host's, that is complete when
     * it returns. They may block. */
    int (*describe)(void *context, int *ordinal, char *name, size_t size, struct err *err);
    int (*alloc)(void *context, size_t nbytes, void **memory, struct err *err);
    int (*free)(void *context, void *memory, struct err *err);
    int (*copy)(void *context, void *to, const void *from, size_t nbytes, struct err *err);
};

typedef const struct device_module *device_module_fn(void);

#endif
