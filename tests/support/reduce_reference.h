/* SPDX-License-Identifier: Apache-2.0 */
/* What reductions must give, one element at a time, in the plainest way that is right to the bit:
 * integers by their definition, halves by way of ldexp() and nearbyint(). Shares nothing with lib/
 * but the names of types and operations. */
#ifndef TESTS_SUPPORT_REDUCE_REFERENCE_H
#define TESTS_SUPPORT_REDUCE_REFERENCE_H

#include "lib/hvd.h"

#include <stddef.h>
#include <stdint.h>

enum { REFERENCE_DTYPES = 11, REFERENCE_OPS = 5 };
extern const enum hvd_dtype reference_dtypes[REFERENCE_DTYPES];
extern const enum hvd_op reference_ops[REFERENCE_OPS];

/* A kind of half. */
struct half_format {
    int digits;          /* behind the point */
    int least, greatest; /* exponents of normal numbers */
};
extern const struct half_format reference_float16, reference_bfloat16;

float reference_widen(const struct half_format *format, uint16_t half);
uint16_t reference_narrow(const struct half_format *format, float value);

/* out[i] = left[i] op right[i]; with HVD_AVERAGE the sum divided by `divisor`. Addresses need no
 * alignment. */
void reference_reduce(enum hvd_dtype dtype, enum hvd_op op, int divisor, void *out,
                      const void *left, const void *right, size_t count);

/* out[i] = in[i] * factor, as lib/reduce/reduce.h says. */
void reference_scale(enum hvd_dtype dtype, double factor, void *out, const void *in, size_t count);

#endif
