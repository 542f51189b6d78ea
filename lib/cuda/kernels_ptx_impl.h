/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of kernels_ptx.h share. */
#ifndef LIB_CUDA_KERNELS_PTX_IMPL_H
#define LIB_CUDA_KERNELS_PTX_IMPL_H

#include "lib/cuda/kernels_ptx.h"

/* How elements are computed. */
enum family { INTEGER, FLOAT, HALF, BFLOAT, BOOL };

struct element {
    const char *name; /* NULL: there is no kernel */
    int nbytes;
    enum family family;
    const char *loaded;           /* ld and st: "u8" */
    const char *kept;             /* registers of %x, %y and %z */
    const char *type;             /* of conversions, for integers */
    const char *least, *greatest; /* of integers, as double */
};

/* Text that grows; a failure is remembered. */
struct ptx {
    char *text;
    size_t length, room;
    bool failed;
};

__attribute__((format(printf, 2, 3))) void ptx_put(struct ptx *ptx, const char *format, ...);

/* kernels_ptx_reduce.c: puts %x op %y into %z; the divisor of an average is in %l8. */
void ptx_put_reduction(struct ptx *ptx, enum kernel_act act, const struct element *element);

#endif
