/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks (ranks.h) with a GPU of the stand-in for the CUDA driver (tests/stand_in_cuda): it is the
 * `device` of device_ranks.h. */
#ifndef TESTS_SUPPORT_CUDA_RANKS_H
#define TESTS_SUPPORT_CUDA_RANKS_H

#include "tests/stand_in_cuda/stand_in.h"
#include "tests/support/device_ranks.h"

/* The GPU that cuda_start() opens; 0 unless set. */
extern int cuda_ordinal;

/* To be called once, before ranks are started: hvd_cuda_open() uses the module that is linked here,
 * and trials use the memory of its GPU. Tensors go through the host, unless HVD_CUDA_NCCL and
 * HVD_CUDA_IPC are set otherwise afterwards. */
void cuda_prepare(void);

/* Opens the GPU. The end: nothing is left of it anywhere. */
void cuda_start(void);
void cuda_stop(void);

/* Starts the sum of `count` int32 in the memory of the GPU, in place; the status. */
static inline int cuda_submit_sum(const char *name, void *memory, int64_t count, int64_t *handle)
{
    const struct hvd_tensor tensor = { .name = name,
                                       .input = memory,
                                       .output = memory,
                                       .dtype = HVD_INT32,
                                       .ndims = 1,
                                       .dims = &count,
                                       .device = device };
    return hvd_allreduce_async(&tensor, HVD_SUM, NULL, handle);
}

#endif
