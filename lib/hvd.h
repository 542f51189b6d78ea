/* SPDX-License-Identifier: Apache-2.0 */
/* hvd.h - data-parallel training for programs in C and C++: the whole public interface of libhvd.
 *
 * A program is started several times, usually by hvdrun; each of its processes is a *rank*, all of
 * them together are the *world*. hvd_init() finds the world, the collectives below move data
 * between its ranks, hvd_shutdown() leaves it.
 *
 *     hvd_init();
 *     hvd_broadcast("weights", weights, count, HVD_FLOAT32, 0);
 *     for each step:
 *         compute the gradients g
 *         hvd_allreduce("grad", g, g, count, HVD_FLOAT32, HVD_AVERAGE);
 *         apply them
 *     hvd_shutdown();
 *
 * Every collective must be called by every rank, in the same order, with the same name, element
 * type, count and operation. If they differ, the call fails with HVD_ERR_MISMATCH on every rank,
 * and so does every later one: the world does not go on. (The root of a broadcast may have returned
 * before others disagree.) The calls block. They may be made from any thread; calls of one process
 * are carried out one after the other. Data need not be aligned.
 *
 * Status: every call returns HVD_OK (0) or a negative enum hvd_status, except those that return a
 * rank or a size, which are never negative when they succeed. hvd_last_error() tells in words what
 * happened to the calling thread last. No call aborts, exits, prints, or changes signal handlers,
 * locale, working directory, stdin or stdout. After fork() the child holds no world: its calls
 * return HVD_ERR_FORKED.
 *
 * The names and their meaning are those of Horovod; hvd(3) has a page for each call,
 * hvd_environment(7) lists the variables that are read. */
#ifndef HVD_H
#define HVD_H

#include <stddef.h>

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
    HVD_ERR_MISMATCH =
        -9, /* ranks called different collectives, or with different types, counts or operations */
    HVD_ERR_PEER_LOST = -10, /* another rank, or the launcher, died or became unreachable */
    HVD_ERR_PEER_LEFT =
        -11, /* another rank called hvd_shutdown() or ended before this collective */
    HVD_ERR_SHUT_DOWN = -12, /* this process has called hvd_shutdown() */
    HVD_ERR_FORKED = -13     /* this process was forked from one that called hvd_init() */
};

/* Element types. The numbers are those of Horovod's DataType, which has no bfloat16. float16 and
 * bfloat16 are combined two at a time in float32, each result rounded to nearest, ties to even. */
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
        0, /* sum, then divided by the size of the world; integers are truncated toward zero */
    HVD_SUM = 1,    /* integers wrap around in two's complement */
    HVD_MIN = 3,    /* for floating point: NaN if any operand is NaN */
    HVD_MAX = 4,    /* likewise */
    HVD_PRODUCT = 5 /* integers wrap around */
};

/* Joins the world and blocks until every rank has done so.
 *
 * The place of this process, the address of the rendezvous and the job's key come from the
 * environment that hvdrun sets. Without HOROVOD_RANK, HOROVOD_SIZE and HOROVOD_GLOO_RENDEZVOUS_ADDR
 * the process is a world of its own, of size 1. Calling it again after success changes nothing and
 * returns HVD_OK. After a failure it can be called again as long as the rendezvous has not accepted
 * this rank (nobody answered, or the environment was wrong); after that, and after hvd_shutdown(),
 * it cannot. */
HVD_API int hvd_init(void);

/* Leaves the world; the other ranks learn of it, and those that wait for this one fail with
 * HVD_ERR_PEER_LEFT. Waits for no other rank. Calling it again, or without hvd_init(), changes
 * nothing and returns HVD_OK. Normal exit of the process does the same. A collective that another
 * thread is inside is waited for. */
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

/* Reduces `count` elements over all ranks; every rank gets the whole result, the same to the bit.
 *
 * `name` tells this reduction in error messages and must be the same on all ranks; at most 255
 * bytes; NULL for none. `output` may be equal to `input`, and must not overlap it otherwise.
 * `count` may be 0 and need not divide by the size of the world. Elements are combined in ring
 * order: the block of elements that rank r ends up reducing is combined starting from rank r + 1,
 * in order of rank around the ring, so that a run with the same ranks repeats exactly. When the
 * call fails, `output` holds anything. */
HVD_API int hvd_allreduce(const char *name, const void *input, void *output, size_t count,
                          enum hvd_dtype dtype, enum hvd_op op);

/* Copies `count` elements of `data` on rank `root` to `data` on every other rank. */
HVD_API int hvd_broadcast(const char *name, void *data, size_t count, enum hvd_dtype dtype,
                          int root);

/* Gathers `count` elements from each rank, in order of rank, into `output` on every rank: size x
 * count elements. `input` may be the own part of `output` (output + rank x count elements), and
 * must not overlap it otherwise. */
HVD_API int hvd_allgather(const char *name, const void *input, void *output, size_t count,
                          enum hvd_dtype dtype);

/* Returns when every rank has called it. */
HVD_API int hvd_barrier(void);

/* A short text for a status, and the text of the last failure in this thread ("" if none). Both are
 * borrowed: the first for ever, the second until this thread's next call. */
HVD_API const char *hvd_strstatus(int status);
HVD_API const char *hvd_last_error(void);

/* Bytes per element, 0 for a value that is not an enum hvd_dtype. */
HVD_API size_t hvd_dtype_size(enum hvd_dtype dtype);

/* The version of the library that is running, e.g. "0.1.0". */
HVD_API const char *hvd_version(void);

#ifdef __cplusplus
}
#endif

#endif
