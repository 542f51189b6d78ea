/* SPDX-License-Identifier: Apache-2.0 */
/* Combining elements: the inner loops, by element type and operation, and the names of both.
 *
 * Integers wrap around. The minimum or maximum of floating point numbers is NaN if either number
 * is. float16 and bfloat16 are widened to float32, combined, and rounded once, half to even. In a
 * bool any value but 0 is true, and a result is 0 or 1. Addresses need no alignment. Results are
 * the same to the bit on every instruction set (reduce_path.h). */
#ifndef LIB_REDUCE_REDUCE_H
#define LIB_REDUCE_REDUCE_H

#include "lib/hvd.h"

#include <stddef.h>

/* out[i] = left[i] op right[i]. `out` may be equal to `left` or `right`, and must not overlap them
 * otherwise. */
typedef void reduce_fn(void *out, const void *left, const void *right, size_t count);

/* The last step of an average: out[i] = (left[i] + right[i]) / divisor, which is 1 to 2^24. The sum
 * of integers wraps around in their own type and the quotient is truncated toward zero; that of
 * halves is divided as a float32, so it may be larger than a half on the way. */
typedef void divide_fn(void *out, const void *left, const void *right, size_t count, int divisor);

/* out[i] = in[i] * factor. Integers are multiplied as double and truncated toward zero; what does
 * not fit becomes the closest value that does, NaN becomes 0. float16, bfloat16 and float32 are
 * multiplied in float32 by the factor rounded to float32. `out` may be equal to `in`. */
typedef void scale_fn(void *out, const void *in, size_t count, double factor);

/* Halves become float32 or come from it, by the rules of half.h. `out` must not overlap `in`. */
typedef void convert_fn(void *out, const void *in, size_t count);

/* NULL for an unknown element type or operation, and for the average of bool. HVD_AVERAGE combines
 * as HVD_SUM does, until the last step. */
reduce_fn *reduce_function(enum hvd_dtype dtype, enum hvd_op op);
divide_fn *divide_function(enum hvd_dtype dtype);

/* The reduction of one operand: the elements themselves, but 0 or 1 for a bool. `out` may be equal
 * to `in`. */
void reduce_single(void *out, const void *in, size_t count, enum hvd_dtype dtype);

/* NULL for bool and for an unknown element type. */
scale_fn *scale_function(enum hvd_dtype dtype);

/* NULL for all but float16 and bfloat16. */
convert_fn *widen_function(enum hvd_dtype dtype);
convert_fn *narrow_function(enum hvd_dtype dtype);

/* Bytes per element, 0 if unknown. */
enum { DTYPES = HVD_BFLOAT16 + 1 };
extern const unsigned char dtype_sizes[DTYPES];
static inline size_t dtype_size(int dtype)
{
    return dtype >= 0 && dtype < DTYPES ? dtype_sizes[dtype] : 0;
}

/* "float32"; "sum"; "?" if unknown. */
const char *dtype_name(int dtype);
const char *op_name(int op);

#endif
