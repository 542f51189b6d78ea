/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of Adasum; see adasum_math.h. Each is written once, inlined into a function per
 * instruction set, and vectorised by the compiler. The number of lanes and the order in which they
 * are added are fixed, and a product and a sum are never fused: so all paths give the same bits. */
#include "lib/collective/adasum_math.h"

#include "lib/reduce/half.h"

#include <float.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* `out` equal to an operand creates no dependence between iterations. */
#if defined __clang__
#pragma STDC FP_CONTRACT OFF
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined __GNUC__
#pragma GCC optimize("O3", "fp-contract=off")
#define INDEPENDENT _Pragma("GCC ivdep")
#else
#define INDEPENDENT
#endif

#if defined __GNUC__
#define UNALIGNED __attribute__((aligned(1), may_alias))
#define BODY static inline __attribute__((always_inline))
#else
#define UNALIGNED
#define BODY static inline
#endif

typedef uint16_t any_half UNALIGNED;
typedef float any_float32 UNALIGNED;
typedef double any_float64 UNALIGNED;

struct adasum_sums adasum_add(const struct adasum_sums *x, const struct adasum_sums *y)
{
    return (struct adasum_sums){ x->dot + y->dot, x->a + y->a, x->b + y->b };
}

/* Written so that NaN propagates. */
static double factor(double dot, double square)
{
    return square < DBL_MIN ? 1 : 1 - dot / square / 2;
}

struct adasum_factors adasum_factors(const struct adasum_sums *sums)
{
    return (struct adasum_factors){ factor(sums->dot, sums->a), factor(sums->dot, sums->b) };
}

/* Element i is added to lane i % LANES: of the first vector, then of the second. A vector has the
 * width of AVX2; GCC 12 keeps wider vectors in memory where the processor has none. */
enum { VECTOR = 4, LANES = 2 * VECTOR };

typedef float float32_vector __attribute__((vector_size(VECTOR * sizeof(float))));
typedef double float64_vector __attribute__((vector_size(VECTOR * sizeof(double))));

struct lanes {
    float64_vector dot[2], a[2], b[2];
};

BODY double add_lanes(const float64_vector *vectors)
{
    float64_vector sums = vectors[0] + vectors[1];
    return (sums[0] + sums[2]) + (sums[1] + sums[3]);
}

#define DOT(type)                                                                                  \
    BODY void add_vector_##type(struct lanes *sums, int vector, const any_##type *a,               \
                                const any_##type *b)                                               \
    {                                                                                              \
        type##_vector narrow_x, narrow_y;                                                          \
        memcpy(&narrow_x, a, sizeof narrow_x);                                                     \
        memcpy(&narrow_y, b, sizeof narrow_y);                                                     \
        float64_vector x = __builtin_convertvector(narrow_x, float64_vector);                      \
        float64_vector y = __builtin_convertvector(narrow_y, float64_vector);                      \
        sums->dot[vector] += x * y;                                                                \
        sums->a[vector] += x * x;                                                                  \
        sums->b[vector] += y * y;                                                                  \
    }                                                                                              \
    BODY void add_##type(struct lanes *lanes, const any_##type *a, const any_##type *b,            \
                         size_t count)                                                             \
    {                                                                                              \
        struct lanes sums = *lanes;                                                                \
        size_t whole = count / LANES * LANES;                                                      \
        for (size_t i = 0; i < whole; i += LANES) {                                                \
            add_vector_##type(&sums, 0, a + i, b + i);                                             \
            add_vector_##type(&sums, 1, a + i + VECTOR, b + i + VECTOR);                           \
        }                                                                                          \
        any_##type rest[2][LANES] = { { 0 } };                                                     \
        memcpy(rest[0], a + whole, (count - whole) * sizeof *a);                                   \
        memcpy(rest[1], b + whole, (count - whole) * sizeof *b);                                   \
        add_vector_##type(&sums, 0, rest[0], rest[1]);                                             \
        add_vector_##type(&sums, 1, rest[0] + VECTOR, rest[1] + VECTOR);                           \
        *lanes = sums;                                                                             \
    }

DOT(float32)
DOT(float64)

/* Halves are widened a block at a time; a block is a multiple of LANES. */
enum { BLOCK = 512 };

#define HALF(type)                                                                                 \
    BODY void widen_##type(float *to, const any_half *from, size_t count)                          \
    {                                                                                              \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++)                                                         \
            to[i] = type##_to_float(from[i]);                                                      \
    }                                                                                              \
    BODY void add_##type(struct lanes *lanes, const any_half *a, const any_half *b, size_t count)  \
    {                                                                                              \
        float x[BLOCK], y[BLOCK];                                                                  \
        for (size_t i = 0; i < count; i += BLOCK) {                                                \
            size_t n = count - i < BLOCK ? count - i : BLOCK;                                      \
            widen_##type(x, a + i, n);                                                             \
            widen_##type(y, b + i, n);                                                             \
            add_float32(lanes, x, y, n);                                                           \
        }                                                                                          \
    }                                                                                              \
    BODY void mix_##type(any_half *out, const any_half *a, const any_half *b, size_t count,        \
                         struct adasum_factors factors)                                            \
    {                                                                                              \
        const float factor_a = (float)factors.a, factor_b = (float)factors.b;                      \
        float x[BLOCK], y[BLOCK];                                                                  \
        for (size_t i = 0; i < count; i += BLOCK) {                                                \
            size_t n = count - i < BLOCK ? count - i : BLOCK;                                      \
            widen_##type(x, a + i, n);                                                             \
            widen_##type(y, b + i, n);                                                             \
            for (size_t j = 0; j < n; j++)                                                         \
                x[j] = x[j] * factor_a + y[j] * factor_b;                                          \
            INDEPENDENT                                                                            \
            for (size_t j = 0; j < n; j++)                                                         \
                out[i + j] = type##_from_float(x[j]);                                              \
        }                                                                                          \
    }

HALF(float16)
HALF(bfloat16)

#define MIX(type)                                                                                  \
    BODY void mix_##type(any_##type *out, const any_##type *a, const any_##type *b, size_t count,  \
                         struct adasum_factors factors)                                            \
    {                                                                                              \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < count; i++)                                                         \
            out[i] = (any_##type)((double)a[i] * factors.a + (double)b[i] * factors.b);            \
    }

MIX(float32)
MIX(float64)

/* The functions of a type on a path. */
#define MATH(path, type, target)                                                                   \
    target static struct adasum_sums dot_##type##_##path(const void *a, const void *b,             \
                                                         size_t count)                             \
    {                                                                                              \
        struct lanes lanes = { .dot = { { 0 } } };                                                 \
        add_##type(&lanes, a, b, count);                                                           \
        return (struct adasum_sums){ add_lanes(lanes.dot), add_lanes(lanes.a),                     \
                                     add_lanes(lanes.b) };                                         \
    }                                                                                              \
    target static void combine_##type##_##path(void *out, const void *a, const void *b,            \
                                               size_t count, struct adasum_factors factors)        \
    {                                                                                              \
        mix_##type(out, a, b, count, factors);                                                     \
    }

enum { DTYPES = HVD_BFLOAT16 + 1 };

#define PATH(path, target)                                                                         \
    MATH(path, float16, target)                                                                    \
    MATH(path, bfloat16, target)                                                                   \
    MATH(path, float32, target)                                                                    \
    MATH(path, float64, target)                                                                    \
    static const struct adasum_math path[DTYPES] = {                                               \
        [HVD_FLOAT16] = { dot_float16_##path, combine_float16_##path },                            \
        [HVD_BFLOAT16] = { dot_bfloat16_##path, combine_bfloat16_##path },                         \
        [HVD_FLOAT32] = { dot_float32_##path, combine_float32_##path },                            \
        [HVD_FLOAT64] = { dot_float64_##path, combine_float64_##path },                            \
    };

PATH(portable, )

#if defined __x86_64__ && defined __GNUC__
PATH(avx2, __attribute__((target("avx2"))))
PATH(avx512, __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))))

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

static size_t find_paths(const struct adasum_math **paths)
{
    size_t count = 0;
    __builtin_cpu_init();
    if (has_avx512())
        paths[count++] = avx512;
    if (__builtin_cpu_supports("avx2"))
        paths[count++] = avx2;
    paths[count++] = portable;
    return count;
}
#else
static size_t find_paths(const struct adasum_math **paths)
{
    paths[0] = portable;
    return 1;
}
#endif

const struct adasum_math *adasum_math_at(enum hvd_dtype dtype, size_t index)
{
    const struct adasum_math *paths[3];
    if ((int)dtype < 0 || (int)dtype >= DTYPES || index >= find_paths(paths))
        return NULL;
    return paths[index][dtype].dot ? &paths[index][dtype] : NULL;
}

const struct adasum_math *adasum_math(enum hvd_dtype dtype)
{
    return adasum_math_at(dtype, 0);
}
