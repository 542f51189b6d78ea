/* SPDX-License-Identifier: Apache-2.0 */
/* hvd_device.h - tensors in the memory of an accelerator: the table of functions that a vendor
 * fills in.
 *
 * A vendor gives the library a table of functions and gets a number for it. A tensor with that
 * number in `device` (hvd.h) has its input and output in the accelerator's memory. The library
 * never touches that memory itself: it calls the table's functions to copy to and from pinned host
 * memory, and to ask by events whether a copy is done. Collectives then work on host memory in
 * chunks, so that one chunk is copied out, another travels between ranks, and a third is copied
 * back, all at once:
 *
 *     device      | chunk 2 -> host |                    | chunk 0 <- host |
 *     network                         | chunk 1: ring |
 *
 * To port a framework: fill in struct hvd_device, call hvd_register_device() once, and submit
 * tensors with the number and with an event that the accelerator passes when it has made the input.
 * Where an accelerator's own library reduces between accelerators, fill in `allreduce` too.
 *
 *     static const struct hvd_device device = { .name = "npu", .copy_to_host = npu_to_host, ... };
 *     int npu = hvd_register_device(&device);
 *     struct hvd_tensor gradient = { .name = "g", .input = npu_pointer, .output = npu_pointer,
 *                                    .dtype = HVD_FLOAT32, .ndims = 1, .dims = &count,
 *                                    .device = npu, .ready = event };
 *     hvd_allreduce_async(&gradient, HVD_AVERAGE, NULL, &handle);
 *
 * All ranks of a process set keep a tensor in the same kind of memory, host or device; otherwise
 * the collective fails with HVD_ERR_MISMATCH. Gathered outputs are the caller's: the library
 * allocates no memory on a device. A rank that has joined takes part without a device. The library
 * reduces a large tensor chunk by chunk (1 MiB). The order in which elements are combined, and thus
 * the last bit of a floating-point sum, may differ from a reduction in host memory; the order is
 * the same on all ranks.
 *
 * When the device fails before the other ranks have received the data that they need from this
 * rank, the world is broken (HVD_ERR_SYSTEM, on all ranks; the text names rank, tensor, device and
 * the vendor's number). When copying a result back fails, only this tensor fails, and only on this
 * rank. A collective ends only when no work that the library has put on a queue uses its memory any
 * more. When the world has ended, by failure or hvd_shutdown(), the library waits for that work for
 * two seconds at most. */
#ifndef HVD_DEVICE_H
#define HVD_DEVICE_H

#include "hvd.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The order in which an accelerator does things: what is put on one queue is done in turn,
 * different queues run at once if the hardware can. */
enum hvd_device_queue {
    HVD_DEVICE_TO_HOST = 0,
    HVD_DEVICE_FROM_HOST = 1,
    HVD_DEVICE_REDUCE = 2 /* `allreduce` */
};

/* An allreduce that the accelerators do among themselves. All ranks of the set call for the same
 * ones in the same order; the order between those of different sets is nobody's. */
struct hvd_device_allreduce {
    const void *input; /* device memory; may be equal to output */
    void *output;
    size_t count;
    enum hvd_dtype dtype;
    enum hvd_op op;
    double prescale, postscale;
    int process_set;
    int rank, size; /* in the process set */
};

/* What an accelerator can do.
 *
 * Functions that return int return 0, or a negative number of the vendor's own, which the text of
 * the failure tells. None may block for longer than it takes to put something on a queue; none may
 * call the library. They are called one at a time, from any thread that is inside the library or
 * from the library's own, which is never one that the vendor has prepared (if the accelerator wants
 * a current device or context for each thread, set it in each function). `context` is passed back
 * as it was given.
 *
 * A function that calls the library is refused with HVD_ERR_INVALID. One that finds the accelerator
 * beyond hope may call exit(): the process ends with that status, without hvd_shutdown(), and the
 * other ranks are told that this one was lost. */
struct hvd_device {
    const char *name; /* for messages; at most 31 bytes are used */
    void *context;

    /* Host memory that the accelerator can copy from and to directly; NULL when there is none. The
     * library asks for pieces of 1 MiB, eight at first and more when several process sets want them
     * at once, and keeps them until the device is unregistered. Without the first eight a
     * collective is refused with HVD_ERR_NOMEM. Without more, sets wait for each other, which after
     * ten seconds ends the world with the same status. */
    void *(*alloc_pinned)(void *context, size_t nbytes);
    void (*free_pinned)(void *context, void *memory, size_t nbytes);

    /* Puts a copy on its queue, HVD_DEVICE_TO_HOST or HVD_DEVICE_FROM_HOST. The host memory is
     * pinned, the device's is any part of a tensor: no alignment is promised. */
    int (*copy_to_host)(void *context, void *host, const void *device, size_t nbytes);
    int (*copy_from_host)(void *context, void *device, const void *host, size_t nbytes);

    /* Events, which are used again and again: recorded, they have not passed until everything has
     * been done that was on that queue then. query_event() returns 1 when it has passed, 0 when not
     * yet, and a negative number when what it stands for has failed: something that was put on the
     * queue since an event was recorded there before. An event that was never recorded has passed.
     * query_event() is also asked about the caller's own events (hvd_tensor.ready): until they have
     * passed neither input nor output is touched. It is asked every 50 us or so while the library
     * waits for one, and not at all otherwise. */
    void *(*create_event)(void *context); /* NULL when there is none */
    void (*destroy_event)(void *context, void *event);
    int (*record_event)(void *context, void *event, enum hvd_device_queue queue);
    int (*query_event)(void *context, void *event);

    /* Both or neither may be NULL. Can the accelerators reduce this themselves (1, or 0)? The
     * answer must be the same on all ranks for the same arguments, else the collective is a
     * mismatch. HVD_ADASUM is not asked for, and while a rank has joined the library reduces
     * itself. Then: puts it on HVD_DEVICE_REDUCE; other tensors move meanwhile. */
    int (*can_allreduce)(void *context, enum hvd_dtype dtype, enum hvd_op op, int process_set);
    int (*allreduce)(void *context, const struct hvd_device_allreduce *allreduce);
};

/* Returns the device's number, 1 or more, which is this process's own business: ranks may have
 * different ones. The table is copied; what it points to must stay until the device is
 * unregistered. Can be called before hvd_init(). HVD_ERR_INVALID for a table with a function
 * missing. */
HVD_API int hvd_register_device(const struct hvd_device *device);

/* Gives back what the library has of the device, but for pinned memory whose last copy has not
 * passed. HVD_ERR_INVALID for a number that is no device's, or while tensors of it are in flight.
 * The number is not used again. */
HVD_API int hvd_unregister_device(int device);

#ifdef __cplusplus
}
#endif

#endif
