/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of kernels_ptx.h on one GPU, compiled by the driver.
 *
 * Fails with HVD_ERR_NOMEM, or HVD_ERR_SYSTEM in the driver's words. The GPU's context is the
 * current one (cuda_device_enter()). */
#ifndef LIB_CUDA_KERNELS_H
#define LIB_CUDA_KERNELS_H

#include "lib/cuda/cuda_device.h"
#include "lib/cuda/kernels_ptx.h"

/* How an operation combines two elements; `last` is for the last two, where an average, until then
 * a sum, is divided. False if there are no kernels for it. */
bool cuda_kernels_acts(enum hvd_op op, enum kernel_act *act, enum kernel_act *last);

struct cuda_kernels {
    struct cuda_module_image *module;
    struct cuda_function *functions[KERNEL_ACTS][KERNEL_DTYPES]; /* NULL: there is none */
};

/* Those of the first `acts` acts. */
int cuda_kernels_load(struct cuda_kernels *kernels, const struct cuda_device *device, int acts,
                      struct err *err);
void cuda_kernels_unload(struct cuda_kernels *kernels, const struct cuda_device *device);

/* Puts out[i] = in[i] * factor on the stream. The kernel exists and was loaded. */
int cuda_kernels_scale(const struct cuda_kernels *kernels, const struct cuda_device *device,
                       struct cuda_stream *stream, enum hvd_dtype dtype, void *out, const void *in,
                       size_t count, double factor, struct err *err);

/* Puts out[i] = out[i] op in[i] on the stream; an average is divided. Likewise. */
int cuda_kernels_reduce(const struct cuda_kernels *kernels, const struct cuda_device *device,
                        struct cuda_stream *stream, enum kernel_act act, enum hvd_dtype dtype,
                        uint64_t out, uint64_t in, size_t count, int divisor, struct err *err);

#endif
