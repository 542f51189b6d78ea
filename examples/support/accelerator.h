/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated accelerator: memory of its own, that faults when the processor touches it; a thread
 * of its own for computing, and one for each direction of copying; queues; a bandwidth. It shows
 * how a vendor fills in hvd_device.h, and tests that nobody touches what is not theirs.
 *
 *     accelerator_create(&accelerator, &options, &problem);
 *     int device = hvd_register_device(accelerator_table(accelerator));
 *     float *weights = accelerator_alloc(accelerator, nbytes);
 *     accelerator_write(accelerator, weights, host, nbytes);
 *     accelerator_run(accelerator, multiply, &arguments);     kernels run in turn, on its thread
 *     accelerator_record(accelerator, event);
 *
 * A pointer into its memory is an address that means nothing to the processor (reading or writing
 * it is a SIGSEGV). A kernel turns it into one that it can use with accelerator_pointer(). */
#ifndef EXAMPLES_SUPPORT_ACCELERATOR_H
#define EXAMPLES_SUPPORT_ACCELERATOR_H

#include <stddef.h>

#include "examples/support/problem.h"
#include "hvd_device.h"

struct accelerator;

struct accelerator_options {
    size_t memory;           /* bytes it has */
    double bytes_per_second; /* of each direction of copying; 0: as fast as it goes */
};

/* Returns 0, or -1 with a problem. */
int accelerator_create(struct accelerator **accelerator, const struct accelerator_options *options,
                       struct problem *problem);

/* Waits until all queues are empty. NULL is fine. */
void accelerator_destroy(struct accelerator *accelerator);

/* For hvd_register_device(); lives as long as the accelerator. */
const struct hvd_device *accelerator_table(struct accelerator *accelerator);

/* Device memory; NULL when it has no more. NULL can be freed. */
void *accelerator_alloc(struct accelerator *accelerator, size_t nbytes);
void accelerator_free(struct accelerator *accelerator, void *memory);

/* Blocking copies between ordinary host memory and device memory, behind what is on the compute
 * queue. */
void accelerator_write(struct accelerator *accelerator, void *device, const void *host,
                       size_t nbytes);
void accelerator_read(struct accelerator *accelerator, void *host, const void *device,
                      size_t nbytes);

/* Puts a kernel on the compute queue, and returns. `arg` is borrowed until it has run; host memory
 * in it is what a real accelerator would have received as arguments. */
typedef void accelerator_kernel_fn(struct accelerator *accelerator, void *arg);
int accelerator_run(struct accelerator *accelerator, accelerator_kernel_fn *kernel, void *arg);

/* Kernels only: where device memory really is. */
void *accelerator_pointer(struct accelerator *accelerator, const void *device);

/* An event of the table's, to be passed when the compute queue has come here. */
int accelerator_record(struct accelerator *accelerator, void *event);

/* Waits until the compute queue is empty. */
void accelerator_synchronize(struct accelerator *accelerator);

/* What has been copied to and from the host through the table, in bytes. */
size_t accelerator_bytes_copied(const struct accelerator *accelerator);

#endif
