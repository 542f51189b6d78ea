/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that scale and combine elements on a GPU, as PTX text, which the driver compiles. The
 * text is made from one table of element types (kernels_ptx.c).
 *
 * A kernel that scales has the parameters out, in (addresses), count (64 bits) and factor (double),
 * and sets out[i] = in[i] * factor. The others have out, left, right (addresses), count and divisor
 * (64 bits), and set out[i] = left[i] op right[i]; an average is divided by the divisor, which is 1
 * to 2^24.
 *
 * Results are those of lib/reduce/reduce.h to the bit, except which NaN a NaN is. Addresses are
 * aligned to the size of an element; `out` may be equal to an input. Any number of threads does:
 * they share the elements.
 *
 * The text needs PTX 6.0 and sm_60, Pascal. */
#ifndef LIB_CUDA_KERNELS_PTX_H
#define LIB_CUDA_KERNELS_PTX_H

#include "lib/hvd.h"

#include <stdbool.h>
#include <stddef.h>

enum kernel_act {
    KERNEL_SCALE,
    KERNEL_SUM,
    KERNEL_PRODUCT,
    KERNEL_MIN,
    KERNEL_MAX,
    KERNEL_AVERAGE
};
enum { KERNEL_ACTS = KERNEL_AVERAGE + 1, KERNEL_DTYPES = HVD_BFLOAT16 + 1 };

/* False for element types that do not exist, and for what bool has not: factor and average. */
bool kernel_exists(enum kernel_act act, enum hvd_dtype dtype);

/* Bytes of an element; 0 for a type that does not exist. */
size_t kernel_element_bytes(enum hvd_dtype dtype);

/* "hvd_scale_float32". */
enum { KERNEL_NAME = 40 };
void kernel_name(char name[KERNEL_NAME], enum kernel_act act, enum hvd_dtype dtype);

/* All kernels of the first `acts` acts; free() it. NULL when out of memory. */
char *kernels_ptx(int acts);

#endif
