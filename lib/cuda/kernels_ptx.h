/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels that scale elements on a GPU (prescale and postscale around NCCL), as PTX text, which
 * the driver compiles. The text is made from one table of element types (kernels_ptx.c).
 *
 * Each kernel has the parameters out, in (addresses), count (64 bits) and factor (double), and sets
 * out[i] = in[i] * factor.
 *
 * Results are those of lib/reduce/reduce.h to the bit, except which NaN a NaN is. Addresses are
 * aligned to the size of an element; `out` may be equal to `in`. Any number of threads does: they
 * share the elements.
 *
 * The text needs PTX 6.0 and sm_60, Pascal. */
#ifndef LIB_CUDA_KERNELS_PTX_H
#define LIB_CUDA_KERNELS_PTX_H

#include "lib/hvd.h"

#include <stdbool.h>

enum { KERNEL_DTYPES = HVD_BFLOAT16 + 1 };

/* True for the element types that NCCL reduces (nccl_numbers()). */
bool kernel_exists(enum hvd_dtype dtype);

/* "hvd_scale_float32". */
enum { KERNEL_NAME = 40 };
void kernel_name(char name[KERNEL_NAME], enum hvd_dtype dtype);

/* All kernels; free() it. NULL when out of memory. */
char *kernels_ptx(void);

#endif
