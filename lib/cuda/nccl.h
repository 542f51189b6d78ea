/* SPDX-License-Identifier: Apache-2.0 */
/* NCCL, if this machine has it: libnccl.so.2 is loaded once for the process.
 *
 * Fails with HVD_ERR_SYSTEM when there is none, and when it is older than 2.14, which was the first
 * whose calls need not block. */
#ifndef LIB_CUDA_NCCL_H
#define LIB_CUDA_NCCL_H

#include "lib/base/status.h"
#include "lib/cuda/nccl_abi.h"

#include <stdbool.h>

enum { NCCL_LEAST = 21400 };

struct nccl {
    void *library;
    int version; /* 22803: 2.28.3 */
    const char *(*get_error_string)(int result);
#define MEMBER(member, name, parameters) int(*member) parameters;
    NCCL_CALLS(MEMBER)
#undef MEMBER
};

/* NULL and `err` on failure; a later call tries again. */
const struct nccl *nccl_open(struct err *err);

/* Fails with NCCL's words for `result`. */
int nccl_fail(const struct nccl *nccl, int result, const char *call, struct err *err);

/* Its numbers for an element type and an operation; false if it has none. It averages floating
 * point only as the library does. */
bool nccl_numbers(enum hvd_dtype dtype, enum hvd_op op, int *nccl_dtype, int *nccl_op);

#endif
