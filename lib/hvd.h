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
 * Tensors without a name (NULL) are matched by their order among the nameless of the same kind.
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
 * hvd_training.h, state, metrics, learning rates, samplers and checkpoints; hvd_device.h, tensors
 * in the memory of an accelerator. */
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
#define HVD_VERSION_MINOR 1
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
    HVD_ERR_AUTH = -7,            /* a peer could not prove that it knows the job's key */
    HVD_ERR_TIMEOUT = -8,         /* a peer did not answer in time */
    HVD_ERR_MISMATCH = -9,        /* what the ranks submitted under one name does not agree */
    HVD_ERR_PEER_LOST = -10,      /* another rank, or the launcher, died or became unreachable */
    HVD_ERR_PEER_LEFT =
        -11, /* another rank called hvd_shutdown() or ended before this collective */
    HVD_ERR_SHUT_DOWN = -12, /* this process has called hvd_shutdown() */
    HVD_ERR_FORKED = -13     /* this process was forked from one that called hvd_init() */
};

/* Element types. The numbers are those of Horovod's DataType, which has no bfloat16. float16 and
 * bfloat16 are combined two at a time in float32, each result rounded half to even. */
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

/* Reductions. The numbers are those of Horovod's ReduceOp. Of bool, sum and max are the logical or,
 * product and min the logical and; it has no average. */
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

/* Joins the world and blocks until every rank has done so.
 *
 * The place of this process, the address of the rendezvous and the job's key come from the
 * environment that hvdrun sets; or HVD_RENDEZVOUS names a service, which gives the place. Without
 * HOROVOD_RANK, HOROVOD_SIZE and any rendezvous the process is a world of its own, of size 1; where
 * another launcher's variables say that it is one of several, a line on stderr warns of that.
 * Calling it again after success changes nothing and returns HVD_OK. After a failure it can be
 * called again as long as the rendezvous has not accepted this rank (nobody answered, or the
 * environment was wrong); after that, and after hvd_shutdown(), it cannot. */
HVD_API int hvd_init(void);

/* Likewise, and makes `count` process sets, numbered 1 to `count`, which every rank must give
 * alike. If they differ the ranks are joined all the same and HVD_ERR_MISMATCH is returned, or
 * HVD_ERR_INVALID on a rank whose own sets are not acceptable. */
struct hvd_ranks {
    const int *ranks;
    int count;
};
HVD_API int hvd_init_process_sets(const struct hvd_ranks *sets, int count);

/* Leaves the world. Collectives of this rank that are not done fail with HVD_ERR_SHUT_DOWN; on the
 * other ranks those that need it fail with HVD_ERR_PEER_LEFT. Waits for no other rank. Calling it
 * again, or without hvd_init(), changes nothing and returns HVD_OK. Normal exit of the process does
 * the same, unless another thread is inside a call then. */
HVD_API int hvd_shutdown(void);

/* 1 between a successful hvd_init() and hvd_shutdown(), else 0. Also 1 when the world has lost a
 * rank meanwhile. */
HVD_API int hvd_is_initialized(void);

/* Where this process stands, 0-based, and of how many; or HVD_ERR_NOT_INITIALIZED,
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

/* 1 if every host has the same number of ranks, else 0; or a negative status as above. */
HVD_API int hvd_is_homogeneous(void);

/* The short forms: blocking, over the whole world, of `count` elements in one dimension. */

/* Reduces `count` elements over all ranks; every rank gets the whole result, the same to the bit.
 *
 * `name` is at most 255 bytes of UTF-8, or NULL. `output` may be equal to `input`, and must not
 * overlap it otherwise. `count` may be 0 and need not divide by the size of the world. The order in
 * which elements are combined depends on their number and the ranks alone; but of tensors of up to
 * 64 KiB that are in flight at the same time some may be fused, and then it depends on which
 * (HOROVOD_FUSION_THRESHOLD=0 rules that out). When the call fails, `output` holds anything. */
HVD_API int hvd_allreduce(const char *name, const void *input, void *output, size_t count,
                          enum hvd_dtype dtype, enum hvd_op op);

/* Copies `count` elements of `data` on rank `root` to `data` on every other rank. */
HVD_API int hvd_broadcast(const char *name, void *data, size_t count, enum hvd_dtype dtype,
                          int root);

/* Gathers `count` elements from each rank, in order of rank, into `output` on every rank: size x
 * count elements. `input` may be the own part of `output` (output + rank x count elements), and
 * must not overlap it otherwise. A rank whose `output` turns out to be too small, because others
 * gave more, gets HVD_ERR_INVALID. */
HVD_API int hvd_allgather(const char *name, const void *input, void *output, size_t count,
                          enum hvd_dtype dtype);

/* Returns when every rank has called it. One barrier of a set is in flight at a time. */
HVD_API int hvd_barrier(void);

/* The long forms: any shape, process set and factors, and no waiting. */

enum { HVD_DIMS_MAX = 8, HVD_NAME_MAX = 255 };

/* A tensor in row-major order. The struct, its dims and its name are read during the call only; the
 * memory of input and output is borrowed until hvd_wait() has returned for the handle, and must not
 * be touched meanwhile. */
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

/* What most calls leave out: zero, or NULL instead of the struct, means the default. */
struct hvd_options {
    int process_set;  /* 0, the default, is the world */
    double prescale;  /* each rank's input is multiplied by it first; 0 counts as 1 */
    double postscale; /* the result is multiplied by it; 0 counts as 1 */
};

/* What a collective gave besides the contents of its output. */
struct hvd_result {
    void *data;    /* where the output is: as submitted, or memory that hvd_result_free() frees */
    int64_t dim0;  /* of the output: the rows that are there */
    size_t size;   /* of the output, in bytes */
    int64_t *rows; /* allgather, alltoall: the rows that came from each rank of the set */
    int nrows;     /* how many of those there are; 0 for other collectives */
    int last_rank; /* join: the rank that joined last; otherwise -1 */
    void *memory;  /* the library's own */
};

/* Each starts a collective and returns HVD_OK and its handle, or says what is wrong and starts
 * nothing. What ranks disagree on comes out of hvd_wait(). The order in which ranks call them does
 * not matter. */

/* Like hvd_allreduce(). Also HVD_ADASUM, for float16, bfloat16, float32 and float64. */
HVD_API int hvd_allreduce_async(const struct hvd_tensor *tensor, enum hvd_op op,
                                const struct hvd_options *options, int64_t *handle);

/* `count` tensors that are reduced when all of them have been submitted by all ranks, and finish
 * together, under one handle. */
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

/* Sends splits[i] rows to rank i of the set, taken from the input in order, and receives its rows
 * from each, in order of rank. `nsplits` is the size of the set and the splits add up to dims[0] at
 * most; rows beyond them are not sent. `splits` NULL: equal shares, and dims[0] must divide by the
 * size of the set. The result tells how many rows came from each. `output` must not overlap the
 * input. */
HVD_API int hvd_alltoall_async(const struct hvd_tensor *tensor, const int64_t *splits, int nsplits,
                               const struct hvd_options *options, int64_t *handle);

/* Reduces (HVD_SUM, HVD_AVERAGE) and leaves each rank its share of the rows: dims[0] divided by the
 * size of the set, and one more for each of the first dims[0] modulo size ranks. hvd_share() tells
 * how many. `output` may be equal to `input`, and must not overlap it otherwise. */
HVD_API int hvd_reducescatter_async(const struct hvd_tensor *tensor, enum hvd_op op,
                                    const struct hvd_options *options, int64_t *handle);
HVD_API int hvd_grouped_reducescatter_async(const struct hvd_tensor *tensors, int count,
                                            enum hvd_op op, const struct hvd_options *options,
                                            int64_t *handle);
HVD_API int64_t hvd_share(int64_t rows, int size, int rank);

/* Done when every rank of the set has submitted it. */
HVD_API int hvd_barrier_async(const struct hvd_options *options, int64_t *handle);

/* Says that this rank has no more data: until every rank of the set has joined, it takes part in
 * the allreduces of the others with zeros. Averages still divide by the size of the set. Other
 * collectives than allreduce and barrier fail meanwhile. The result tells who joined last. */
HVD_API int hvd_join_async(const struct hvd_options *options, int64_t *handle);
HVD_API int hvd_join(int *last_rank);

/* The same, waiting. `result` and `results` (one for each tensor) may be NULL when nothing but the
 * output is wanted, which then must not be NULL. Allreduce, allgather and broadcast of one tensor
 * have their short forms above; with a shape, a set or factors, start them and wait. */
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

/* 1 if hvd_wait() would return at once, 0 if not, or HVD_ERR_INVALID for what is no handle. */
HVD_API int hvd_poll(int64_t handle);

/* Waits until the collective is done, returns its status, and ends the handle. The thread that
 * waits moves the data. */
HVD_API int hvd_wait(int64_t handle);

/* Likewise, with what the collective gave: `result` has room for one, or for a group as many as it
 * has tensors, in their order. They are empty when it failed. */
HVD_API int hvd_wait_result(int64_t handle, struct hvd_result *result);

/* Likewise (`result` may be NULL), for at most `timeout_ms` milliseconds (0 or less: not at all):
 * then HVD_ERR_TIMEOUT, and the handle can be waited for again. */
HVD_API int hvd_wait_timeout(int64_t handle, int timeout_ms, struct hvd_result *result);

/* Frees what the library allocated for a result and empties it. NULL and empty are fine. */
HVD_API void hvd_result_free(struct hvd_result *result);

/* Process sets: some of the world's ranks, in which collectives run beside those of the world and
 * of other sets. Set 0 is the world. */

/* Makes a set of `count` different ranks. Every rank of the world calls it, with the same ranks in
 * any order, and waits for the others. Returns the set's number, the same on all ranks;
 * HVD_ERR_MISMATCH if the ranks disagree, HVD_ERR_INVALID for a set that exists. Ranks that add and
 * remove several sets do so in the same order, or that is a mismatch, too. */
HVD_API int hvd_add_process_set(const int *ranks, int count);

/* Ends a set; called by every rank of the world. Waits until what this rank has submitted in it is
 * done, then for the others. Its number may be given out again. */
HVD_API int hvd_remove_process_set(int process_set);

/* This process's rank in a set, and the set's size; HVD_ERR_INVALID if there is no such set, or for
 * the rank, if this process is not a member. */
HVD_API int hvd_process_set_rank(int process_set);
HVD_API int hvd_process_set_size(int process_set);
HVD_API int hvd_process_set_included(int process_set); /* 1 or 0 */

/* The numbers of the sets, or the ranks of one, ascending: at most `capacity` of them are stored.
 * Both return how many there are. */
HVD_API int hvd_process_sets(int *process_sets, int capacity);
HVD_API int hvd_process_set_ranks(int process_set, int *ranks, int capacity);

/* Records what the library does as Chrome trace events in `file`, from now on; only rank 0 writes.
 * HOROVOD_TIMELINE does so from the start. `mark_cycles` adds a mark for each round of agreement.
 * Starting again, into another file, ends the first. Stopping what is not running is fine. */
HVD_API int hvd_start_timeline(const char *file, int mark_cycles);
HVD_API int hvd_stop_timeline(void);

/* A short text for a status, and the text of the last failure in this thread ("" if none). Both are
 * borrowed: the first for ever, the second until this thread's next call. */
HVD_API const char *hvd_strstatus(int status);
HVD_API const char *hvd_last_error(void);

/* Bytes per element, 0 for a value that is not an enum hvd_dtype. */
HVD_API size_t hvd_dtype_size(enum hvd_dtype dtype);

/* How many bytes this process has sent to other ranks since hvd_init(), whatever they were for:
 * data, agreement, heads of messages; or HVD_ERR_NOT_INITIALIZED, HVD_ERR_SHUT_DOWN,
 * HVD_ERR_FORKED. A rank that submits nothing sends nothing, but for what others need it for. */
HVD_API int64_t hvd_bytes_sent(void);

/* Memory for tensors, which other ranks of this host can read where it lies: reductions of tensors
 * in it copy nothing and are several times as fast as those of other memory. Everything else works
 * alike. Aligned to 64 bytes, contents undefined; NULL when out of memory. Usable before hvd_init()
 * and after hvd_shutdown(), from any thread; a part of what was allocated is as good as the whole.
 * Tensors of any size: small ones share pages, as in malloc(), but it is slower than that, and not
 * meant for what is allocated in every step. Where the system has no such memory, it is ordinary.
 *
 * hvd_free() gives it back (NULL is fine), once no tensor in it is in flight. A child that the
 * process forks may use what was allocated before, as long as its parent does not free it, but
 * changes are seen by the parent as well; freeing it there does nothing. */
HVD_API void *hvd_alloc(size_t nbytes);
HVD_API void hvd_free(void *memory);

/* The version of the library that is running, e.g. "0.1.0". */
HVD_API const char *hvd_version(void);

#ifdef __cplusplus
}
#endif

#endif
