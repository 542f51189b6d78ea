/* SPDX-License-Identifier: Apache-2.0 */
/* hvd.h - data-parallel training for programs in C and C++: the world and its collectives.
 *
 * A program is started several times, usually by hvdrun; each of its processes is a *rank*, all of
 * them together are the *world*. hvd_init() joins the world, the collectives below move data
 * between its ranks, and hvd_shutdown() leaves the world.
 *
 *     hvd_init();
 *     hvd_broadcast("weights", weights, count, HVD_FLOAT32, 0);
 *     for each step:
 *         for each layer, backwards:
 *             compute its gradient
 *             hvd_allreduce_async(&gradient[i], HVD_AVERAGE, NULL, &handle[i]);
 *         hvd_wait(handle[i]) for each i, and apply them
 *     hvd_shutdown();
 *
 * Names, not the order of calls, decide which tensors of different ranks belong together: every
 * rank submits the same names, in any order, from any thread. A name can be in flight once per
 * process set; when its collective is done it can be used again, and the second time costs less.
 * Tensors without a name (NULL) are matched by their order among the nameless of the same kind
 * since the last join.
 *
 * What the ranks submit under a name must agree: kind of collective, element type, shape,
 * operation, factors, root. If it does not, the collective fails with HVD_ERR_MISMATCH on every
 * rank, the text says which ranks said what, and the world goes on. When a rank is lost, every
 * later call on every rank fails with HVD_ERR_PEER_LOST and the same text. A deadlock exists when
 * ranks wait for each other for ever, each for a name that another rank does not submit. The
 * library breaks the world within seconds (HVD_ERR_TIMEOUT) if it can prove the deadlock: every
 * thread of every program must be in a call that waits without a deadline.
 *
 * Status: every call returns HVD_OK (0) or a negative enum hvd_status, except those that return a
 * rank, a size or a number, which are never negative when they succeed. hvd_last_error() describes
 * in words the last error of the calling thread. A call reports this rank's own mistake at once
 * (HVD_ERR_INVALID) and submits nothing. Calls check in this order: first the arguments by
 * themselves, then the state of the world (HVD_ERR_NOT_INITIALIZED, HVD_ERR_SHUT_DOWN,
 * HVD_ERR_FORKED, a lost rank), then arguments that only a world can judge: a root of size or more,
 * a process set that does not exist. No call aborts, exits, or changes signal handlers,
 * locale, working directory, stdin or stdout; the library writes warnings about stalled ranks to
 * stderr (HOROVOD_LOG_LEVEL). After fork() the child holds no world: its calls return
 * HVD_ERR_FORKED.
 *
 * All calls may be made from any thread, and none is a cancellation point: a thread that is
 * cancelled (pthread_cancel()) while it is in a call ends when the call has. Data need not be
 * aligned. The names have the same meaning as in Horovod; hvd(3) has a page for each call,
 * hvd_environment(7) lists the variables that are read.
 *
 * Related headers: hvd_optimizer.h, an optimizer that averages gradients as they become ready;
 * hvd_training.h, state, metrics, learning rates, samplers and checkpoints; hvd_elastic.h, training
 * that goes on when ranks come and go; hvd_device.h, tensors in the memory of an accelerator;
 * hvd_cuda.h, of an NVIDIA GPU. */
#ifndef HVD_H
#define HVD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined __GNUC__
#define HVD_API __attribute__((visibility("default")))
#else
#define HVD_API
#endif

#define HVD_VERSION_MAJOR 0
#define HVD_VERSION_MINOR 2
#define HVD_VERSION_PATCH 0

/* What a call returns. The numbers are part of the binary interface. */
enum hvd_status {
    HVD_OK = 0,
    HVD_ERR_INVALID = -1,         /* an argument is not acceptable; nothing was sent */
    HVD_ERR_NOT_INITIALIZED = -2, /* hvd_init() has not succeeded yet */
    HVD_ERR_ENVIRONMENT = -3,     /* a HOROVOD_* or HVD_* variable is missing or not acceptable */
    HVD_ERR_NOMEM = -4,           /* out of memory */
    HVD_ERR_SYSTEM = -5,          /* a system call failed */
    HVD_ERR_PROTOCOL = -6,        /* a peer sent what it must not send */
    HVD_ERR_AUTH = -7,            /* a peer could not prove who it is: it lacks the key */
    HVD_ERR_TIMEOUT = -8,         /* a peer did not answer in time */
    HVD_ERR_MISMATCH = -9,        /* the ranks' submissions under one name do not agree */
    HVD_ERR_PEER_LOST = -10,      /* another rank, or the launcher, died or became unreachable */
    HVD_ERR_PEER_LEFT =
        -11, /* another rank called hvd_shutdown() or ended before this collective */
    HVD_ERR_SHUT_DOWN = -12,  /* this process has called hvd_shutdown() */
    HVD_ERR_FORKED = -13,     /* this process was forked from one that called hvd_init() */
    HVD_ERR_STALE = -14,      /* a handle of an epoch that this process has left */
    HVD_ERR_REMOVED = -15,    /* elastic: no further world has this process */
    HVD_HOSTS_UPDATED = -16,  /* elastic, no failure: the job is to go on with other members */
    HVD_ERR_INTERRUPTED = -17 /* struct hvd_interrupt has ended the wait; the collective goes on */
};

/* Element types. The numbers are those of Horovod's DataType, which has no bfloat16. A reduction
 * combines float16 and bfloat16 two at a time in float32 and rounds each result half to even. */
enum hvd_dtype {
    HVD_UINT8 = 0,
    HVD_INT8 = 1,
    HVD_UINT16 = 2,
    HVD_INT16 = 3,
    HVD_INT32 = 4,
    HVD_INT64 = 5,
    HVD_FLOAT16 = 6, /* binary16 of IEEE 754, _Float16 where compilers have it */
    HVD_FLOAT32 = 7,
    HVD_FLOAT64 = 8,
    HVD_BOOL = 9,     /* a byte; any value but 0 is true, and a reduction gives 0 or 1 */
    HVD_BFLOAT16 = 10 /* the upper half of a float32 */
};

/* Reductions. The numbers are those of Horovod's ReduceOp. For bool, sum and max are the logical
 * or, product and min are the logical and, and there is no average. */
enum hvd_op {
    HVD_AVERAGE =
        0, /* sum, then divided by the size of the process set; integers truncate toward zero */
    HVD_SUM = 1, /* integers wrap around in two's complement */
    HVD_ADASUM =
        2,       /* floating point; what two ranks agree on counts once, what they do not, twice */
    HVD_MIN = 3, /* for floating point: NaN if any operand is NaN */
    HVD_MAX = 4, /* likewise */
    HVD_PRODUCT = 5 /* integers wrap around */
};

/* Joins the world and blocks until every rank has joined.
 *
 * The rank of this process, the address of the rendezvous and the job's key come from the
 * environment that hvdrun sets; or HVD_RENDEZVOUS names a service, which hands out the rank.
 * Without HOROVOD_RANK, HOROVOD_SIZE and any rendezvous the process is a world of its own, of size
 * 1. If another launcher's variables show that the process is one of several, the library writes a
 * warning to stderr. After success, another call changes nothing and returns HVD_OK. After a
 * failure the program may call hvd_init() again; a rendezvous that has refused this rank refuses it
 * again, unless the job is elastic.
 *
 * After hvd_shutdown() the call joins the next epoch: another world, in which nothing is left of
 * the former but registered devices and memory of hvd_alloc(). In an elastic job (hvdrun --min-np)
 * the next epoch has other members when ranks were lost or have come, and this process another
 * rank; HVD_ERR_REMOVED: it has no place in any. In other jobs it has the same ranks, all of which
 * must come again, and there is none after a rank was lost. */
HVD_API int hvd_init(void);

/* Like hvd_init(), and makes `count` process sets, numbered 1 to `count`. Every rank must pass the
 * same sets. If the sets differ, the ranks are joined all the same, and the call returns
 * HVD_ERR_MISMATCH, or HVD_ERR_INVALID on a rank whose own sets are not acceptable. */
struct hvd_ranks {
    const int *ranks;
    int count;
};
HVD_API int hvd_init_process_sets(const struct hvd_ranks *sets, int count);

/* Leaves the world and ends its epoch for this process: handles that are left answer
 * HVD_ERR_SHUT_DOWN, and HVD_ERR_STALE once hvd_init() has joined another. Unfinished collectives
 * of this rank fail with HVD_ERR_SHUT_DOWN; on other ranks the collectives that need this rank fail
 * with HVD_ERR_PEER_LEFT. Waits for no other rank. Another call, or a call without hvd_init(),
 * changes nothing and returns HVD_OK. Normal exit of the process does the same, unless another
 * thread is inside a call then. */
HVD_API int hvd_shutdown(void);

/* 1 between a successful hvd_init() and hvd_shutdown(), else 0. The result stays 1 when the world
 * loses a rank. */
HVD_API int hvd_is_initialized(void);

/* The 0-based ranks of this process and the sizes of their groups; or HVD_ERR_NOT_INITIALIZED,
 * HVD_ERR_SHUT_DOWN, HVD_ERR_FORKED.
 *   rank, size               among all processes of the job
 *   local_rank, local_size   among those of the same host: local_rank picks the accelerator
 *   cross_rank, cross_size   among the processes with the same local_rank, one per host */
HVD_API int hvd_rank(void);
HVD_API int hvd_size(void);
HVD_API int hvd_local_rank(void);
HVD_API int hvd_local_size(void);
HVD_API int hvd_cross_rank(void);
HVD_API int hvd_cross_size(void);

/* 1 if every host has the same number of ranks, else 0; or a negative status as for hvd_rank(). */
HVD_API int hvd_is_homogeneous(void);

/* The epoch of the world: 0 for the first world of a job, one more for each further one; or a
 * negative status as for hvd_rank(). */
HVD_API int hvd_epoch(void);

/* Whether an elastic job is to go on with other members than those of this world: 0 if not, else
 * HVD_HOSTS_REMOVED, HVD_HOSTS_ADDED or the sum of both; or a negative status as for hvd_rank().
 * Does not wait. The ranks of a world may learn it at different times; when they have agreed on it,
 * they call hvd_shutdown() and hvd_init(). */
enum { HVD_HOSTS_REMOVED = 1, HVD_HOSTS_ADDED = 2 };
HVD_API int hvd_hosts_updated(void);

/* The short forms: blocking, over the whole world, with `count` elements in one dimension. */

/* Reduces `count` elements over all ranks; every rank gets the whole result, the same to the bit.
 *
 * `name` is at most 255 bytes of UTF-8, or NULL. `output` may be equal to `input`, and must not
 * overlap it otherwise. `count` may be 0 and need not divide by the size of the world. The order in
 * which elements are combined depends only on their number, the ranks, and the hosts and processors
 * of these. Tensors of up to 64 KiB that are in flight at the same time may be fused; then the
 * order also depends on which tensors are fused (HOROVOD_FUSION_THRESHOLD=0 disables fusion). When
 * the call fails, the contents of `output` are undefined. */
HVD_API int hvd_allreduce(const char *name, const void *input, void *output, size_t count,
                          enum hvd_dtype dtype, enum hvd_op op);

/* Copies `count` elements of `data` on rank `root` to `data` on every other rank. */
HVD_API int hvd_broadcast(const char *name, void *data, size_t count, enum hvd_dtype dtype,
                          int root);

/* Gathers `count` elements from each rank, in order of rank, into `output` on every rank: size x
 * count elements. `input` may be the own part of `output` (output + rank x count elements), and
 * must not overlap it otherwise. A rank whose `output` is too small, because other ranks gave more
 * elements, gets HVD_ERR_INVALID. */
HVD_API int hvd_allgather(const char *name, const void *input, void *output, size_t count,
                          enum hvd_dtype dtype);

/* Returns when every rank has called hvd_barrier(). One barrier of a set is in flight at a time. */
HVD_API int hvd_barrier(void);

/* The long forms: any shape, process set and factors. They do not wait. */

enum { HVD_DIMS_MAX = 8, HVD_NAME_MAX = 255 };

/* A tensor in row-major order. The library reads the struct, its dims and its name during the call
 * only. The memory of input and output is borrowed until hvd_wait() has returned for the handle,
 * and must not be touched meanwhile. */
struct hvd_tensor {
    const char *name;   /* at most HVD_NAME_MAX bytes of UTF-8; NULL for none */
    const void *input;  /* broadcast: not used */
    void *output;       /* may be equal to input; allgather, alltoall: NULL, to get memory */
    size_t output_size; /* in bytes; used by allgather, alltoall and reduce-scatter, whose results
                           have a size of their own; there is room for so much */
    enum hvd_dtype dtype;
    int ndims;           /* 0 for a scalar, at most HVD_DIMS_MAX */
    const int64_t *dims; /* of the input, none negative */
    int device;          /* where input and output are: 0 in host memory, else in that of a device
                            (hvd_register_device() in hvd_device.h) */
    void *ready;         /* device: an event after which the input is there, to be left alone until
                            the collective is done; NULL: it is there */
};

/* Lets a program end a call that waits, as Ctrl-C should in an interpreter whose signal handlers
 * run later than the signal. The call asks wanted(arg) in the waiting thread: soon after a signal
 * has interrupted the sleep of this thread, and otherwise four times a second while it waits.
 * wanted() may make calls of the library. When it returns anything but 0, the call returns
 * HVD_ERR_INTERRUPTED, and the collective goes on under `handle`: wait for the handle before the
 * memory is touched. The library expects wanted() not to submit what other ranks wait for, so such
 * a call counts as one without a deadline. */
struct hvd_interrupt {
    int (*wanted)(void *arg);
    void *arg;
    int64_t handle; /* set by the library */
};

/* Options that most calls leave out: zero, or NULL instead of the struct, means the default. */
struct hvd_options {
    int process_set;  /* 0, the default, is the world */
    double prescale;  /* each rank's input is multiplied by it first; 0 counts as 1 */
    double postscale; /* the result is multiplied by it; 0 counts as 1 */
    struct hvd_interrupt *interrupt; /* of a call that waits, borrowed; NULL: it has no end */
};

/* The result of a collective, besides the contents of its output. */
struct hvd_result {
    void *data;    /* the output: as submitted, or memory that hvd_result_free() frees */
    int64_t dim0;  /* of the output: the number of rows */
    size_t size;   /* of the output, in bytes */
    int64_t *rows; /* allgather, alltoall: the rows that came from each rank of the set */
    int nrows;     /* how many of those there are; 0 for other collectives */
    int last_rank; /* join: the rank that joined last; otherwise -1 */
    void *memory;  /* the library's own */
};

/* Each call starts a collective and returns HVD_OK and a handle, or returns an error and starts
 * nothing. hvd_wait() reports disagreement between ranks. The order in which ranks make these calls
 * does not matter. */

/* Like hvd_allreduce(). Also HVD_ADASUM, for float16, bfloat16, float32 and float64. */
HVD_API int hvd_allreduce_async(const struct hvd_tensor *tensor, enum hvd_op op,
                                const struct hvd_options *options, int64_t *handle);

/* Submits `count` tensors as a group: they are reduced when all ranks have submitted all of them,
 * and finish together, under one handle. */
HVD_API int hvd_grouped_allreduce_async(const struct hvd_tensor *tensors, int count, enum hvd_op op,
                                        const struct hvd_options *options, int64_t *handle);

/* Puts the tensors of all ranks one after the other along dimension 0, which may differ between
 * ranks and may be 0; the other dimensions must agree. A scalar has no dimension 0 and is refused.
 */
HVD_API int hvd_allgather_async(const struct hvd_tensor *tensor, const struct hvd_options *options,
                                int64_t *handle);
HVD_API int hvd_grouped_allgather_async(const struct hvd_tensor *tensors, int count,
                                        const struct hvd_options *options, int64_t *handle);

/* Copies `output` of `root`, a rank of the world that belongs to the process set, to all others. */
HVD_API int hvd_broadcast_async(const struct hvd_tensor *tensor, int root,
                                const struct hvd_options *options, int64_t *handle);

/* Sends splits[i] rows of the input, taken in order, to rank i of the set, and receives rows from
 * each rank, in order of rank. `nsplits` is the size of the set, and the splits add up to dims[0]
 * at most; the call does not send rows beyond the splits. `splits` NULL: equal shares, and dims[0]
 * must divide by the size of the set. The result has the number of rows from each rank. `output`
 * must not overlap the input. */
HVD_API int hvd_alltoall_async(const struct hvd_tensor *tensor, const int64_t *splits, int nsplits,
                               const struct hvd_options *options, int64_t *handle);

/* Reduces (HVD_SUM, HVD_AVERAGE) and leaves each rank its share of the rows: dims[0] divided by the
 * size of the set, and one more for each of the first dims[0] modulo size ranks. hvd_share()
 * computes the number. `output` may be equal to `input`, and must not overlap it otherwise. */
HVD_API int hvd_reducescatter_async(const struct hvd_tensor *tensor, enum hvd_op op,
                                    const struct hvd_options *options, int64_t *handle);
HVD_API int hvd_grouped_reducescatter_async(const struct hvd_tensor *tensors, int count,
                                            enum hvd_op op, const struct hvd_options *options,
                                            int64_t *handle);
HVD_API int64_t hvd_share(int64_t rows, int size, int rank);

/* Done when every rank of the set has submitted the barrier. */
HVD_API int hvd_barrier_async(const struct hvd_options *options, int64_t *handle);

/* Declares that this rank has no more data: until every rank of the set has joined, this rank takes
 * part in the allreduces of the others with zeros. Averages still divide by the size of the set.
 * Collectives other than allreduce and barrier fail meanwhile. The result names the rank that
 * joined last. */
HVD_API int hvd_join_async(const struct hvd_options *options, int64_t *handle);
HVD_API int hvd_join(int *last_rank);

/* Blocking forms of the long forms. `result` and `results` (one for each tensor) may be NULL when
 * the caller wants only the output, which then must not be NULL. The results are empty when the
 * call failed. The allreduce, allgather and broadcast of one tensor are called hvd_*_tensor(),
 * since the short forms above have their names. */
HVD_API int hvd_allreduce_tensor(const struct hvd_tensor *tensor, enum hvd_op op,
                                 const struct hvd_options *options);
HVD_API int hvd_allgather_tensor(const struct hvd_tensor *tensor, const struct hvd_options *options,
                                 struct hvd_result *result);
HVD_API int hvd_broadcast_tensor(const struct hvd_tensor *tensor, int root,
                                 const struct hvd_options *options);
HVD_API int hvd_grouped_allreduce(const struct hvd_tensor *tensors, int count, enum hvd_op op,
                                  const struct hvd_options *options);
HVD_API int hvd_grouped_allgather(const struct hvd_tensor *tensors, int count,
                                  const struct hvd_options *options, struct hvd_result *results);
HVD_API int hvd_alltoall(const struct hvd_tensor *tensor, const int64_t *splits, int nsplits,
                         const struct hvd_options *options, struct hvd_result *result);
HVD_API int hvd_reducescatter(const struct hvd_tensor *tensor, enum hvd_op op,
                              const struct hvd_options *options);
HVD_API int hvd_grouped_reducescatter(const struct hvd_tensor *tensors, int count, enum hvd_op op,
                                      const struct hvd_options *options);

/* 1 if hvd_wait() would return at once, 0 if not, or HVD_ERR_INVALID if `handle` is not a handle,
 * or HVD_ERR_STALE if it is one of an earlier epoch. */
HVD_API int hvd_poll(int64_t handle);

/* Waits until the collective is done, returns its status, and ends the handle. The waiting thread
 * moves the data. */
HVD_API int hvd_wait(int64_t handle);

/* Like hvd_wait(), and stores the result: `result` has room for one, or for a group for as many as
 * the group has tensors, in their order. The results are empty when the collective failed. */
HVD_API int hvd_wait_result(int64_t handle, struct hvd_result *result);

/* Like hvd_wait_result() (`result` may be NULL), for at most `timeout_ms` milliseconds (0 or less:
 * does not wait). After that time it returns HVD_ERR_TIMEOUT, and the handle can be waited for
 * again. */
HVD_API int hvd_wait_timeout(int64_t handle, int timeout_ms, struct hvd_result *result);

/* Like hvd_wait_result() (`result` may be NULL), until `interrupt` ends the wait. */
HVD_API int hvd_wait_interruptible(int64_t handle, struct hvd_interrupt *interrupt,
                                   struct hvd_result *result);

/* Frees the memory that the library allocated for a result, and empties the result. NULL and empty
 * are fine. */
HVD_API void hvd_result_free(struct hvd_result *result);

/* Process sets: subsets of the world's ranks. Their collectives run beside those of the world and
 * of other sets. Set 0 is the world. */

/* Makes a set of `count` different ranks. Every rank of the world calls it, with the same ranks in
 * any order, and waits for the others. Returns the set's number, the same on all ranks;
 * HVD_ERR_MISMATCH if the ranks disagree, HVD_ERR_INVALID for a set that exists. All ranks must add
 * and remove several sets in the same order; another order is a mismatch, too. */
HVD_API int hvd_add_process_set(const int *ranks, int count);

/* Removes a set; every rank of the world calls it. Waits until this rank's collectives in the set
 * are done, then for the other ranks. The set's number may be given to a new set. */
HVD_API int hvd_remove_process_set(int process_set);

/* This process's rank in a set, and the set's size; HVD_ERR_INVALID if there is no such set, or for
 * the rank, if this process is not a member. */
HVD_API int hvd_process_set_rank(int process_set);
HVD_API int hvd_process_set_size(int process_set);
HVD_API int hvd_process_set_included(int process_set); /* 1 or 0 */

/* The numbers of the sets, or the ranks of one set, ascending: stores at most `capacity` of them.
 * Both calls return how many there are. */
HVD_API int hvd_process_sets(int *process_sets, int capacity);
HVD_API int hvd_process_set_ranks(int process_set, int *ranks, int capacity);

/* Records the library's work as Chrome trace events in `file`, from now on; only rank 0 writes.
 * HOROVOD_TIMELINE does the same from the start. `mark_cycles` adds a mark for each round of
 * agreement. Starting again, into another file, ends the first file. Stopping a timeline that is
 * not running is fine. */
HVD_API int hvd_start_timeline(const char *file, int mark_cycles);
HVD_API int hvd_stop_timeline(void);

/* A short text for a status, and the text of the last failure in this thread ("" if none). Both are
 * borrowed: the first for ever, the second until this thread's next call. */
HVD_API const char *hvd_strstatus(int status);
HVD_API const char *hvd_last_error(void);

/* Bytes per element, 0 for a value that is not an enum hvd_dtype. */
HVD_API size_t hvd_dtype_size(enum hvd_dtype dtype);

/* How many bytes this process has sent to other ranks since hvd_init(), of any purpose: data,
 * agreement, message headers; or HVD_ERR_NOT_INITIALIZED, HVD_ERR_SHUT_DOWN, HVD_ERR_FORKED. A rank
 * that submits nothing sends only what other ranks need from it. */
HVD_API int64_t hvd_bytes_sent(void);

/* Allocates memory for tensors that other ranks of this host can read in place: reductions of
 * tensors in it copy nothing and are several times as fast as with other memory. Everything else
 * works alike. Aligned to 64 bytes, contents undefined; NULL when out of memory. Usable before
 * hvd_init() and after hvd_shutdown(), from any thread; a tensor may be any part of an allocation.
 * Tensors may have any size: small ones share pages, as in malloc(). hvd_alloc() is slower than
 * malloc() and not meant for allocations in every step. Where the system has no such memory, the
 * memory is ordinary.
 *
 * hvd_free() frees the memory (NULL is fine), once no tensor in it is in flight. A forked child may
 * use memory that was allocated before the fork, as long as its parent does not free it. The parent
 * sees the child's changes as well; hvd_free() in the child does nothing. */
HVD_API void *hvd_alloc(size_t nbytes);
HVD_API void hvd_free(void *memory);

/* The version of the library that is running, e.g. "0.2.0". */
HVD_API const char *hvd_version(void);

#ifdef __cplusplus
}
#endif

#endif
