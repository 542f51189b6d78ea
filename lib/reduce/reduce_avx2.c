/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops for x86-64 with AVX2 and F16C; see reduce_path.h. */
#include "lib/reduce/reduce_path.h"

#ifdef REDUCE_X86_64

#include <cpuid.h>
#include <immintrin.h>

#define PATH reduce_avx2
#define PATH_NAME "avx2"
#define PATH_SUPPORTED has_avx2_and_f16c
#define PATH_TARGET __attribute__((target("avx2,f16c")))

/* Whether the system keeps wide registers is part of the answer for AVX2. Not every compiler knows
 * the name of F16C. */
static bool has_avx2_and_f16c(void)
{
    unsigned int a, b, c, d;
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

typedef __m256 lanes;
#define LANES 8

/* All bits for a NaN, none else. In integers: Clang 14 makes a slow comparison of float16s of one of
 * floats that have just been widened. */
PATH_TARGET static inline __m256i is_nan(lanes x)
{
    __m256i rest = _mm256_and_si256(_mm256_castps_si256(x), _mm256_set1_epi32(0x7fffffff));
    return _mm256_cmpgt_epi32(rest, _mm256_set1_epi32(0x7f800000));
}

PATH_TARGET static inline lanes float16_load(const void *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(from));
}

PATH_TARGET static inline void float16_store(void *to, lanes x)
{
    _mm_storeu_si128(to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

PATH_TARGET static inline lanes bfloat16_load(const void *from)
{
    __m256i halves = _mm256_cvtepu16_epi32(_mm_loadu_si128(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(halves, 16));
}

/* As bfloat16_from_float(). */
PATH_TARGET static inline void bfloat16_store(void *to, lanes x)
{
    __m256i bits = _mm256_castps_si256(x), upper = _mm256_srli_epi32(bits, 16);
    __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    __m256i up = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    __m256i rounded = _mm256_srli_epi32(_mm256_add_epi32(bits, up), 16);
    __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    __m256i halves = _mm256_blendv_epi8(rounded, quiet, is_nan(x));
    _mm_storeu_si128(
        to, _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
}

/* These instructions give the second operand when either is NaN or both are zero. */
PATH_TARGET static inline lanes lanes_least(lanes x, lanes y)
{
    return _mm256_min_ps(x, y);
}

PATH_TARGET static inline lanes lanes_greatest(lanes x, lanes y)
{
    return _mm256_max_ps(x, y);
}

PATH_TARGET static inline lanes lanes_nan_or(lanes x, lanes y)
{
    return _mm256_blendv_ps(y, x, _mm256_castsi256_ps(is_nan(x)));
}

#include "lib/reduce/reduce_loops.h"

#endif
