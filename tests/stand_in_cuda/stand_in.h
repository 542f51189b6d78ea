/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for the CUDA driver, libcuda.so.1, for tests on machines without a GPU. It is no
 * simulator of a GPU: it keeps the promises of the calls that lib/cuda makes, checks the order in
 * which they come, and fails when it is told to.
 *
 * Memory that one process exports and another opens is the same memory. Freeing memory that another
 * process has open, which NVIDIA's manual calls undefined, ends the process.
 *
 * What it checks, and what the driver would answer: cuInit() first; a current context on the
 * calling thread; handles that exist; memory that exists, all of it, and of which kind. Device
 * memory faults when the processor touches it. Each stream is a thread. Kernels are PTX, which it
 * interprets (stand_in_ptx.c).
 *
 * STAND_IN_CUDA in the environment, or stand_in_configure(), is a list of words:
 *
 *     gpus=N           GPUs that it shows (2); CUDA_VISIBLE_DEVICES hides some
 *     driver=N         its version (12040)
 *     pools=N          whether its GPUs have memory pools (1)
 *     ipc=N            whether memory can be exported to other processes (1)
 *     peers=N          whether its GPUs can access each other's memory (1)
 *     rank=N           the words behind it are for the process with HOROVOD_RANK=N only
 *     fail=CALL:N:R    the N-th call of CALL from now returns R
 *     lost=CALL:N      the GPU falls off the bus at that call: it and all later ones return 999
 *     late=N:R         the N-th piece of work on a stream fails when its turn comes; the context is
 *                      broken then, as by an illegal address: each later call returns R */
#ifndef TESTS_STAND_IN_CUDA_STAND_IN_H
#define TESTS_STAND_IN_CUDA_STAND_IN_H

#include "lib/cuda/driver_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STAND_IN_API __attribute__((visibility("default")))

/* Replaces what was wanted before. */
STAND_IN_API void stand_in_configure(const char *words);

/* What somebody has of it at the moment. */
struct stand_in_holdings {
    int contexts; /* primary contexts retained, less released */
    int streams, events, pieces, pinned, images;
    int imported; /* pieces of other processes that are open */
    int pushed;   /* contexts on the stacks of all threads */
};
STAND_IN_API struct stand_in_holdings stand_in_holdings(void);

/* While held, work that is put on streams waits. */
STAND_IN_API void stand_in_hold(bool hold);

/* Device memory for a test: on a GPU, or managed. */
STAND_IN_API void *stand_in_alloc(int ordinal, bool managed, size_t nbytes);
STAND_IN_API void stand_in_release(void *memory);

/* Where device memory really is; NULL unless all of it is in one piece. */
STAND_IN_API void *stand_in_pointer(uint64_t memory, size_t nbytes);

/* Work of another stand-in (libnccl) on a stream: fn(arg) returns a CUresult. */
typedef int stand_in_work_fn(void *arg);
STAND_IN_API int stand_in_enqueue(struct cuda_stream *stream, stand_in_work_fn *fn, void *arg);

/* For it, too: what a call of its own is to return at once; whether this thread has a context. */
STAND_IN_API int stand_in_fault(const char *call);
STAND_IN_API bool stand_in_has_context(void);

/* The entry points of the driver, by their real names. */
#define STAND_IN_PROTOTYPE(member, name, suffix, parameters)                                       \
    STAND_IN_API int stand_in_call_##member parameters __asm__(#name suffix);
CUDA_CALLS(STAND_IN_PROTOTYPE)

/* ---- between its files ---- */

/* stand_in_faults.c */
int stand_in_late_fault(void);
void stand_in_break(int result);
int stand_in_number(const char *word, int otherwise);

/* stand_in_context.c: likewise, for a call that needs cuInit(), or a current context. */
int stand_in_enter(const char *call, bool context);

int stand_in_current(void); /* the ordinal of the thread's current context */
void stand_in_count_contexts(struct stand_in_holdings *holdings);

/* stand_in_memory.c */
void *stand_in_host_pointer(const void *host, size_t nbytes); /* pinned, or NULL */
void stand_in_count_memory(struct stand_in_holdings *holdings);

/* For stand_in_ipc.c. The file of a piece of cuMemAlloc() that begins at the address, -1 if there
 * is none; a file as a piece of the current context; and its end, a CUresult. */
struct stand_in_file {
    int fd, ordinal; /* the GPU that has the memory */
    size_t nbytes;
};
struct stand_in_file stand_in_file_of(uint64_t memory);
int stand_in_import(const struct stand_in_file *file, uint64_t *memory);
int stand_in_unimport(uint64_t memory);

/* stand_in_stream.c: waits until all work on all streams is done, as the driver does before it
 * frees memory. */
void stand_in_drain(void);

/* stand_in_kernel.c */
void stand_in_count_images(struct stand_in_holdings *holdings);

/* PTX (stand_in_ptx.c), for tests, too. stand_in_parse() returns a CUresult; so does
 * stand_in_interpret(), which runs all threads, one after the other. */
struct stand_in_kernel;
STAND_IN_API int stand_in_parse(const char *ptx, struct stand_in_kernel **kernels, int *count);
STAND_IN_API const struct stand_in_kernel *stand_in_find(const struct stand_in_kernel *kernels,
                                                         int count, const char *name);
STAND_IN_API void stand_in_free_kernels(struct stand_in_kernel *kernels, int count);
int stand_in_parameters(const struct stand_in_kernel *kernel);
STAND_IN_API int stand_in_interpret(const struct stand_in_kernel *kernel,
                                    const uint64_t *parameters, unsigned blocks, unsigned threads);

#endif
