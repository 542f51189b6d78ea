/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that combine elements on a GPU, as PTX text, which the driver compiles. The text is
 * made from one table of element types and one of operations (kernels_ptx.c).
 *
 * Each kernel has the parameters out, left, right (addresses), count (64 bits) and factor (double):
 *
 *   sum, product, min, max   out[i] = left[i] op right[i]
 *   average                  out[i] = (left[i] + right[i]) / factor, which is an integer; not bool
 *   scale                    out[i] = left[i] * factor; not bool
 *
 * Results are those of lib/reduce/reduce.h to the bit, except which NaN a NaN is. Addresses are
 * aligned to the size of an element; `out` may be equal to `left` or `right`. Any number of threads
 * does: they share the elements.
 *
 * The text needs PTX 6.0 and sm_60, Pascal. */
#ifndef LIB_CUDA_KERNELS_PTX_H
#define LIB_CUDA_KERNELS_PTX_H

#include "lib/hvd.h"

#include <stdbool.h>

enum { KERNEL_DTYPES = HVD_BFLOAT16 + 1 };

enum kernel_op {
    KERNEL_SUM,
    KERNEL_PRODUCT,
    KERNEL_MIN,
    KERNEL_MAX,
    KERNEL_AVERAGE,
    KERNEL_SCALE,
    KERNEL_OPS
};

/* False for the average and scale of bool, and for an unknown element type. */
bool kernel_exists(enum hvd_dtype dtype, enum kernel_op op);

/* "hvd_sum_float32". */
enum { KERNEL_NAME = 40 };
void kernel_name(char name[KERNEL_NAME], enum hvd_dtype dtype, enum kernel_op op);

/* All kernels; free() it. NULL when out of memory. */
char *kernels_ptx(void);

#endif
