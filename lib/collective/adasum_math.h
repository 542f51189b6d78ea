/* SPDX-License-Identifier: Apache-2.0 */
/* The arithmetic of Adasum on parts of two vectors a and b: their dot products, the factors that
 * follow from those, and a * factors.a + b * factors.b.
 *
 * The common part of a and b counts once, the rest of both counts in full: two equal vectors give
 * the same vector, two orthogonal vectors their sum. Dot products are sums of doubles. Halves are
 * combined in float32 and rounded once, half to even; float32 is combined in double and rounded
 * once. Addresses
 * need no alignment. Results are the same to the bit on every instruction set. */
#ifndef LIB_COLLECTIVE_ADASUM_MATH_H
#define LIB_COLLECTIVE_ADASUM_MATH_H

#include "lib/hvd.h"

#include <stddef.h>

struct adasum_sums {
    double dot, a, b; /* <a,b>, |a|^2, |b|^2 */
};

struct adasum_factors {
    double a, b;
};

/* The factors of two vectors. A vector whose square is 0, or too small to be exact, counts in
 * full. */
struct adasum_factors adasum_factors(const struct adasum_sums *sums);

struct adasum_sums adasum_add(const struct adasum_sums *x, const struct adasum_sums *y);

struct adasum_math {
    /* The dot products of `count` elements. */
    struct adasum_sums (*dot)(const void *a, const void *b, size_t count);

    /* out[i] = a[i] * factors.a + b[i] * factors.b. `out` may be equal to `a` or `b`, and must not
     * overlap them otherwise. */
    void (*combine)(void *out, const void *a, const void *b, size_t count,
                    struct adasum_factors factors);
};

/* The best for this processor. NULL for a type that is not a floating-point type. */
const struct adasum_math *adasum_math(enum hvd_dtype dtype);

/* All instruction sets of this processor: index 0 is the best, NULL comes after the last, which is
 * plain C. For tests. */
const struct adasum_math *adasum_math_at(enum hvd_dtype dtype, size_t index);

#endif
