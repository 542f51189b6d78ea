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
 * Where an accelerator's own library reduces between accelerators, fill in `allreduce` too; where
 * it moves data between them, hvd_extend_device() has `collective`.
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

/* The queues of an accelerator: it does the work on one queue in order; work on different queues
 * runs at once if the hardware can. */
enum hvd_device_queue {
    HVD_DEVICE_TO_HOST = 0,
    HVD_DEVICE_FROM_HOST = 1,
    HVD_DEVICE_REDUCE = 2 /* `allreduce` and `collective` */
};

/* An allreduce that the accelerators do among themselves. All ranks of the set call for the same
 * allreduces and collectives (below) in the same order; those of different sets have no common
 * order. */
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

/* Another collective that the accelerators do among themselves; HVD_DEVICE_ALLREDUCE is a question
 * of can_collective() alone. */
enum hvd_device_collective_kind {
    HVD_DEVICE_BROADCAST = 1,
    HVD_DEVICE_ALLGATHER = 2,
    HVD_DEVICE_REDUCESCATTER = 3,
    HVD_DEVICE_ALLTOALL = 4,
    HVD_DEVICE_ALLREDUCE = 5
};

struct hvd_device_collective {
    enum hvd_device_collective_kind kind;
    enum hvd_dtype dtype;
    const void *input; /* device memory; broadcast: equal to output, on all ranks */
    void *output;
    size_t count; /* elements of the input */
    int root;     /* broadcast: its rank in the process set */

    /* Reduce-scatter: sum or average. The input may be equal to the output; what lies behind this
     * rank's share is undefined then. */
    enum hvd_op op;
    double prescale, postscale;

    /* The rows that each rank gives to an allgather, that are its share of a reduce-scatter, or
     * that it sends to this rank in an alltoall, and the elements in one row. `rows` is borrowed
     * until collective() returns. */
    const int64_t *rows;
    size_t row_count;

    /* Allgather, alltoall: bytes of the output. The input of an allgather may be this rank's part
     * of the output. If the caller was wrong about the other ranks' rows, it is another part of the
     * output, and the result must be right all the same; or `output_size` is less than the result:
     * then this rank takes part for the sake of the others, and leaves the output as it was. The
     * library refuses the tensor afterwards, on this rank alone. */
    size_t output_size;

    int process_set;
    int rank, size; /* in the process set */

    /* Alltoall: the rows that this rank sends to each rank, borrowed like `rows`; they follow each
     * other in the input, as those of `rows` do in the output, which is apart from it. */
    const int64_t *splits;

    /* HVD_DEVICE_ALLREDUCE: 1 if all ranks of the world are on one host, else 0. */
    int one_host;

    /* Later versions add members here. */
};

/* The functions and properties of an accelerator.
 *
 * Functions that return int return 0, or a negative number of the vendor's own, which appears in
 * the text of the failure. No function may block for longer than it takes to put work on a queue,
 * and none may call the library. The library calls them one at a time, from any thread that is
 * inside the library or from the library's own thread. The vendor has not prepared these threads:
 * if the accelerator needs a current device or context for each thread, set it in each function.
 * The library passes `context` unchanged.
 *
 * When a function calls the library, that call fails with HVD_ERR_INVALID. A function that finds
 * the accelerator broken may call exit(): the process ends with that status, without
 * hvd_shutdown(), and the other ranks learn that this rank was lost. */
struct hvd_device {
    const char *name; /* for messages; at most 31 bytes are used */
    void *context;

    /* Host memory that the accelerator can copy from and to directly; NULL when there is none. The
     * library asks for pieces of 1 MiB, eight at first and more when several process sets want them
     * at once, and keeps them until the device is unregistered. If the first eight cannot be
     * allocated, a collective fails with HVD_ERR_NOMEM on this rank alone. If more cannot be
     * allocated, sets wait for each other; after ten seconds such a wait breaks the world with
     * HVD_ERR_NOMEM. */
    void *(*alloc_pinned)(void *context, size_t nbytes);
    void (*free_pinned)(void *context, void *memory, size_t nbytes);

    /* Puts a copy on its queue, HVD_DEVICE_TO_HOST or HVD_DEVICE_FROM_HOST. The host memory is
     * pinned, the device's is any part of a tensor: no alignment is promised. */
    int (*copy_to_host)(void *context, void *host, const void *device, size_t nbytes);
    int (*copy_from_host)(void *context, void *device, const void *host, size_t nbytes);

    /* Events, which the library reuses. A recorded event passes when all work is done that was on
     * the queue when the event was recorded. query_event() returns 1 when the event has passed, 0
     * when not yet, and a negative number when work has failed that was put on the queue between
     * the previously recorded event and this one. An event that was never recorded has passed. The
     * library also queries the caller's own events (hvd_tensor.ready), and touches neither input
     * nor output until they have passed. It queries every 50 us or so while it waits for an event,
     * and not at all otherwise. */
    void *(*create_event)(void *context); /* NULL when there is none */
    void (*destroy_event)(void *context, void *event);
    int (*record_event)(void *context, void *event, enum hvd_device_queue queue);
    int (*query_event)(void *context, void *event);

    /* Both or neither may be NULL. can_allreduce() returns 1 if the accelerators can reduce this
     * themselves, else 0. The answer must be the same on all ranks for the same arguments,
     * otherwise the collective is a mismatch. The library does not ask for HVD_ADASUM, and reduces
     * itself while a rank has joined. allreduce() puts the reduction on HVD_DEVICE_REDUCE; other
     * tensors move meanwhile. */
    int (*can_allreduce)(void *context, enum hvd_dtype dtype, enum hvd_op op, int process_set);
    int (*allreduce)(void *context, const struct hvd_device_allreduce *allreduce);

    /* May be NULL. The text of the failure for which a function has just returned `error`, one
     * line; NULL when there is none. Borrowed until the next call of a function. */
    const char *(*error_text)(void *context, int error);

    /* May be NULL. 0 if the accelerator can copy and reduce all of this memory, else a negative
     * number: the collective is refused with HVD_ERR_INVALID. The library asks for the input and
     * the output of each tensor that is submitted, and for nothing of zero bytes. */
    int (*check_memory)(void *context, const void *memory, size_t nbytes);
};

/* Functions that came after struct hvd_device, whose size stays as it was: a vendor that was
 * compiled with an older header goes on working. New functions are added at the end. */
struct hvd_device_extension {
    size_t size; /* sizeof(struct hvd_device_extension), as the vendor's header has it */

    /* May be NULL. The failure for which create_event() or alloc_pinned() has just returned NULL, a
     * negative number with a text of error_text(); 0 if the accelerator works, and has none left.
     * A failure breaks the world, as that of a copy does; without the function NULL always means
     * that there is none left. */
    int (*failure)(void *context);

    /* Both or neither may be NULL. can_collective() returns 1 if the accelerators can do this
     * themselves, else 0. The library asks when a tensor is submitted, with kind, dtype, root, op,
     * prescale, postscale, process_set and size alone; the other members are 0. The answer must be
     * the same on all ranks for the same question, otherwise the collective is a mismatch. A vendor
     * returns 0 for a kind that it does not know: later versions of this header have more.
     * collective() puts the collective on HVD_DEVICE_REDUCE; other tensors move meanwhile.
     *
     * Where the table has allreduce(), and can_allreduce() has returned 0, the library asks for
     * HVD_DEVICE_ALLREDUCE with `count` and `one_host` too: for accelerators that reduce large
     * tensors only, or only within a host. After a 1 it calls allreduce(), never collective(). */
    int (*can_collective)(void *context, const struct hvd_device_collective *question);
    int (*collective)(void *context, const struct hvd_device_collective *collective);
};

/* Returns the device's number, 1 or more; different ranks may use different numbers. The library
 * copies the table; the objects that the table points to must stay until the device is
 * unregistered. May be called before hvd_init(). HVD_ERR_INVALID for a table with a function
 * missing. */
HVD_API int hvd_register_device(const struct hvd_device *device);

/* Adds functions to a device that is registered, and has no tensors in flight. The library copies
 * the struct. HVD_ERR_INVALID for a number that no device has, while its tensors are in flight, for
 * a size that is too small for any function, and for one of two functions that belong together.
 * Functions that this library does not know are not called. */
HVD_API int hvd_extend_device(int device, const struct hvd_device_extension *extension);

/* Frees the library's memory and events of the device, except pinned memory whose last copy has not
 * passed. HVD_ERR_INVALID for a number that no device has, or while its tensors are in flight. The
 * number is not used again. */
HVD_API int hvd_unregister_device(int device);

/* The number of the device that hvd_init() has opened because HVD_DEVICE names it (hvd_cuda.h); 0
 * when there is none, which is host memory. */
HVD_API int hvd_default_device(void);

#ifdef __cplusplus
}
#endif

#endif
