/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA driver of this machine: libcuda.so.1 is loaded, its entry points are looked up, and it
 * is initialized, once for the process.
 *
 * Fails with HVD_ERR_SYSTEM when there is no driver (the loader's words), when it is too old (its
 * version, or the entry point that it lacks), and when cuInit() fails or there is no GPU (the
 * driver's words). */
#ifndef LIB_CUDA_DRIVER_H
#define LIB_CUDA_DRIVER_H

#include "lib/base/status.h"
#include "lib/cuda/driver_abi.h"

/* The oldest driver that can do what is needed: that of CUDA 11.4 (cuDeviceGetUuid_v2). */
enum { CUDA_DRIVER_LEAST = 11040 };

struct cuda_driver {
    void *library;
    int version; /* 12040: CUDA 12.4 */
    int gpus;    /* as the driver shows them: CUDA_VISIBLE_DEVICES hides others; not 0 */
#define MEMBER(member, name, suffix, parameters) int(*member) parameters;
    CUDA_CALLS(MEMBER)
#undef MEMBER
};

/* NULL and `err` on failure; a later call tries again. */
const struct cuda_driver *cuda_driver_open(struct err *err);

/* Fails with the driver's words for `result`: "CALL: an illegal memory access was encountered
 * (CUDA_ERROR_ILLEGAL_ADDRESS)". */
int cuda_driver_fail(const struct cuda_driver *driver, int result, const char *call,
                     struct err *err);

#endif
