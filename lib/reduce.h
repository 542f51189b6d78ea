/* SPDX-License-Identifier: Apache-2.0 */
/* Combining elements: the inner loops, by element type and operation, and the names of both.
 *
 * Integers wrap around. The least or greatest of floating point numbers is NaN if either is.
 * Addresses need no alignment. */
#ifndef LIB_REDUCE_H
#define LIB_REDUCE_H

#include "lib/hvd.h"

#include <stddef.h>

/* out[i] = left[i] op right[i]. `out` may be equal to `left` or `right`, and must not overlap them
 * otherwise. */
typedef void reduce_fn(void *out, const void *left, const void *right, size_t count);

/* data[i] /= divisor, which is positive; integers are truncated toward zero. */
typedef void divide_fn(void *data, size_t count, int divisor);

/* NULL for what is not an element type or an operation. HVD_AVERAGE combines as HVD_SUM does. */
reduce_fn *reduce_function(enum hvd_dtype dtype, enum hvd_op op);
divide_fn *divide_function(enum hvd_dtype dtype);

/* Bytes per element, 0 if unknown; "float32"; "sum"; "?" if unknown. */
size_t dtype_size(int dtype);
const char *dtype_name(int dtype);
const char *op_name(int op);

#endif
