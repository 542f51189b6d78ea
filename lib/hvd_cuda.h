/* SPDX-License-Identifier: Apache-2.0 */
/* hvd_cuda.h - NVIDIA GPUs as devices: tensors in their memory without a table of one's own.
 *
 *     int gpu;
 *     hvd_init();
 *     hvd_cuda_open(HVD_CUDA_BY_LOCAL_RANK, &gpu);
 *     struct hvd_tensor gradient = { .name = "g", .input = pointer, .output = pointer,
 *                                    .dtype = HVD_FLOAT32, .ndims = 1, .dims = &count,
 *                                    .device = gpu, .ready = event };
 *     hvd_allreduce_async(&gradient, HVD_AVERAGE, NULL, &handle);
 *
 * Pointers are CUdeviceptr, or what cudaMalloc() gives; `ready` is a CUevent or cudaEvent_t, or
 * NULL. With HVD_DEVICE=cuda in its environment hvd_init() does the same, and hvd_default_device()
 * (hvd_device.h) returns the number.
 *
 * The library loads hvd_cuda.so, which is installed beside it, and that loads the driver
 * (libcuda.so.1): nothing of CUDA is needed to build or install. A GPU is used in its primary
 * context, as the CUDA runtime and frameworks use it; no call changes the current context of the
 * calling thread. Memory of another GPU or of the host is refused (HVD_ERR_INVALID); managed memory
 * is accepted. NCCL, if it is found, reduces, broadcasts, gathers, scatters and exchanges between
 * GPUs, but not between hosts while HVD_ENCRYPT wants encryption, which NCCL has not. Ranks of one
 * host read each other's GPU memory for large allreduces that NCCL does not take, if the driver
 * permits it (HVD_CUDA_IPC).
 *
 * This code has never run on a GPU: its tests use a stand-in for the driver (doc/gpu.md). */
#ifndef HVD_CUDA_H
#define HVD_CUDA_H

#include "hvd_device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The GPU whose ordinal is hvd_local_rank(). When the driver shows fewer GPUs: the only one, if
 * CUDA_VISIBLE_DEVICES names it; or with HVD_CUDA_SHARE=1 the local rank modulo their number. */
enum { HVD_CUDA_BY_LOCAL_RANK = -1 };

/* Registers the GPU with the driver's number `ordinal`, and stores the device's number. A GPU may
 * be opened several times.
 *
 * HVD_ERR_INVALID: there is no such GPU; HVD_ERR_NOT_INITIALIZED and its like: the local rank is
 * not known; HVD_ERR_ENVIRONMENT: the host has more ranks than GPUs; HVD_ERR_SYSTEM: there is no
 * driver, it is too old, it shows no GPU, or it fails, in the driver's words. */
HVD_API int hvd_cuda_open(int ordinal, int *device);

/* Unregisters the device and releases the GPU; if it was the default device, there is none until
 * the next hvd_init(). HVD_ERR_INVALID for a device that hvd_cuda_open() has not made, or whose
 * tensors are in flight. */
HVD_API int hvd_cuda_close(int device);

/* For programs that have neither the CUDA runtime nor a framework, on a device of hvd_cuda_open().
 *
 * hvd_cuda_describe() stores the driver's number of the GPU and its name, cut to `size` bytes with
 * the 0 at the end; `ordinal` may be NULL, and so may `name` if `size` is 0. hvd_cuda_alloc()
 * stores the address of memory that hvd_cuda_free() frees. hvd_cuda_copy() copies between any two
 * of the GPU's memory and the host's, and returns when the copy is complete; it knows nothing of
 * the caller's streams.
 *
 * HVD_ERR_INVALID: the device is none of hvd_cuda_open(), `memory` is NULL, or there are no bytes
 * to allocate; HVD_ERR_NOMEM: the GPU has not so much memory left; HVD_ERR_SYSTEM: the driver
 * fails, in its words. */
HVD_API int hvd_cuda_describe(int device, int *ordinal, char *name, size_t size);
HVD_API int hvd_cuda_alloc(int device, size_t nbytes, void **memory);
HVD_API int hvd_cuda_free(int device, void *memory);
HVD_API int hvd_cuda_copy(int device, void *to, const void *from, size_t nbytes);

#ifdef __cplusplus
}
#endif

#endif
