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
 * it is a SIGSEGV). A kernel turns it into one that it can use with accelerator_pointer().
 *
 * All calls may be made from any thread. A process that was forked has no threads of the
 * accelerator's, and must not use it. */
#ifndef EXAMPLES_SUPPORT_ACCELERATOR_H
#define EXAMPLES_SUPPORT_ACCELERATOR_H

#include <stddef.h>

#include "examples/support/problem.h"
#include "hvd_device.h"

struct accelerator;

/* Its queues: those of the table (enum hvd_device_queue), and that of the kernels. */
enum { ACCELERATOR_COMPUTE = HVD_DEVICE_REDUCE + 1, ACCELERATOR_QUEUES };

/* What the table's functions return when they refuse, and query_event() for what has failed. */
enum accelerator_error {
    ACCELERATOR_NOMEM = -1,
    ACCELERATOR_ADDRESS = -2,    /* not, or not all of it, in one piece of its memory */
    ACCELERATOR_NOT_PINNED = -3, /* host memory that alloc_pinned() has not given */
    ACCELERATOR_QUEUE = -4,      /* it has no such queue */
    ACCELERATOR_FAULT = -5       /* as accelerator_inject() wants it */
};

/* An allreduce of the vendor's own, for tests: called on a thread of its own, HVD_DEVICE_REDUCE's,
 * with pointers for the processor in place of device memory. It exchanges the data however it
 * likes, and may block. Returns 0 or a negative number: then the event after it has failed. */
typedef int accelerator_reduce_fn(void *arg, const struct hvd_device_allreduce *allreduce);

/* As hvd_device.can_allreduce. */
typedef int accelerator_can_reduce_fn(void *arg, enum hvd_dtype dtype, enum hvd_op op,
                                      int process_set);

/* Likewise other collectives, and as hvd_device_extension.can_collective. `rows` and `splits` are
 * there until the function returns. */
typedef int accelerator_collective_fn(void *arg, const struct hvd_device_collective *collective);
typedef int accelerator_can_collective_fn(void *arg, const struct hvd_device_collective *question);

struct accelerator_options {
    size_t memory;                         /* bytes it has */
    double bytes_per_second;               /* of each direction of copying; 0: as fast as it goes */
    accelerator_reduce_fn *reduce;         /* NULL: it cannot */
    accelerator_can_reduce_fn *can_reduce; /* NULL: everything */
    accelerator_collective_fn *collective; /* NULL: it cannot */
    accelerator_can_collective_fn *can_collective; /* NULL: everything */
    void *reduce_arg;                              /* of all of them */
};

/* Returns 0, or -1 with a problem. */
int accelerator_create(struct accelerator **accelerator, const struct accelerator_options *options,
                       struct problem *problem);

/* Waits until all queues are empty. NULL is fine. */
void accelerator_destroy(struct accelerator *accelerator);

/* For hvd_register_device(); lives as long as the accelerator. A copy is not finished before
 * nbytes / bytes_per_second seconds after it began, and moves the bytes at the end of that time. An
 * event stands for what was put on its queue since the one recorded there before. */
const struct hvd_device *accelerator_table(struct accelerator *accelerator);

/* For hvd_extend_device(), if it has collectives; lives likewise. */
const struct hvd_device_extension *accelerator_extension(const struct accelerator *accelerator);

/* Device memory, aligned to 64 bytes; NULL when it has no more in one piece. NULL can be freed;
 * what is on a queue must not need it any more. */
void *accelerator_alloc(struct accelerator *accelerator, size_t nbytes);
void accelerator_free(struct accelerator *accelerator, void *memory);

/* Blocking copies between ordinary host memory and device memory, behind what is on the compute
 * queue, as fast as they go. */
void accelerator_write(struct accelerator *accelerator, void *device, const void *host,
                       size_t nbytes);
void accelerator_read(struct accelerator *accelerator, void *host, const void *device,
                      size_t nbytes);

/* Puts a kernel on the compute queue, and returns 0 or an enum accelerator_error. `arg` is borrowed
 * until it has run; host memory in it is what a real accelerator would have received as
 * arguments. */
typedef void accelerator_kernel_fn(struct accelerator *accelerator, void *arg);
int accelerator_run(struct accelerator *accelerator, accelerator_kernel_fn *kernel, void *arg);

/* Kernels only: where device memory really is. */
void *accelerator_pointer(struct accelerator *accelerator, const void *device);

/* An event of the table's, to be passed when the compute queue has come here. Returns 0 or an enum
 * accelerator_error. */
int accelerator_record(struct accelerator *accelerator, void *event);

/* Waits until the compute queue is empty. */
void accelerator_synchronize(struct accelerator *accelerator);

/* What has been copied to and from the host through the table, in bytes. */
size_t accelerator_bytes_copied(const struct accelerator *accelerator);

/* ---- for tests ---- */

/* What somebody has of it at the moment. */
struct accelerator_holdings {
    size_t memory, pinned; /* bytes */
    int events;
};
struct accelerator_holdings accelerator_holdings(const struct accelerator *accelerator);

/* Which of the coming calls go wrong: 1 is the next one of its kind, 0 none. */
struct accelerator_faults {
    unsigned refuse[ACCELERATOR_QUEUES]; /* what is put on a queue: ACCELERATOR_FAULT at once */
    unsigned fail[ACCELERATOR_QUEUES];   /* is not done when its turn comes; its event says so */
    unsigned pinned, event, record;      /* alloc_pinned(), create_event(), recording an event */
};

/* Replaces what was wanted before, and counts from now on. */
void accelerator_inject(struct accelerator *accelerator, const struct accelerator_faults *faults);

#endif
