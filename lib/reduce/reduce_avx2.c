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

/* The answer for AVX2 includes whether the system saves wide registers. Not every compiler knows
 * the name of F16C. */
static bool has_avx2_and_f16c(void)
{
    unsigned int a, b, c, d;
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

typedef __m256 reg;
typedef __m256i words;
enum { REG = 8 };

#define as_reg(x) _mm256_castsi256_ps(x)
#define as_words(x) _mm256_castps_si256(x)
#define reg_load(from) _mm256_loadu_ps((const float *)(from))
#define reg_store(to, x) _mm256_storeu_ps((float *)(to), x)
#define reg_all(x) _mm256_set1_ps(x)
#define reg_quotient(x, y) _mm256_div_ps(x, y)
#define words_load(from) _mm256_loadu_si256((const words *)(from))
#define words_store(to, x) _mm256_storeu_si256((words *)(to), x)
#define words_up(x) _mm256_slli_epi32(x, 16)
#define words_upper(x) _mm256_and_si256(x, _mm256_set1_epi32((int)0xffff0000))

PATH_TARGET static inline words words_round(words x)
{
    words odd = _mm256_and_si256(_mm256_srli_epi32(x, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(x, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
}

PATH_TARGET static inline words words_join(words even, words odd)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(even, 16), odd, 0xaa);
}

PATH_TARGET static inline reg reg_from_float16(const void *from)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(from));
}

PATH_TARGET static inline void reg_to_float16(void *to, reg x)
{
    _mm_storeu_si128(to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

PATH_TARGET static inline reg reg_from_bfloat16(const void *from)
{
    return as_reg(words_up(_mm256_cvtepu16_epi32(_mm_loadu_si128(from))));
}

PATH_TARGET static inline void reg_to_bfloat16(void *to, reg x)
{
    words rest = _mm256_and_si256(as_words(x), _mm256_set1_epi32(0x7fffffff));
    words is_nan = _mm256_cmpgt_epi32(rest, _mm256_set1_epi32(0x7f800000));
    words quiet = _mm256_or_si256(as_words(x), _mm256_set1_epi32(0x400000));
    words rounded = _mm256_blendv_epi8(words_round(as_words(x)), quiet, is_nan);
    words halves = _mm256_srli_epi32(rounded, 16);
    _mm_storeu_si128(
        to, _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1)));
}

/* An intrinsic, not an expression: a compiler may exchange the operands of an expression. */
PATH_TARGET static inline reg reg_sum(reg x, reg y)
{
    reg sum;
    __asm__("vaddps %2, %1, %0" : "=x"(sum) : "x"(x), "x"(y));
    return sum;
}

PATH_TARGET static inline reg reg_product(reg x, reg y)
{
    reg product;
    __asm__("vmulps %2, %1, %0" : "=x"(product) : "x"(x), "x"(y));
    return product;
}

/* The sum where either operand is NaN. From an expression Clang 14 makes a slow comparison of
 * float16s that have just been widened. The instructions for minimum and maximum return the second
 * operand when both are zero. */
PATH_TARGET static inline reg reg_unless_nan(reg x, reg y, reg chosen)
{
    reg is_nan;
    __asm__("vcmpunordps %2, %1, %0" : "=x"(is_nan) : "x"(x), "x"(y));
    return _mm256_blendv_ps(chosen, reg_sum(x, y), is_nan);
}

PATH_TARGET static inline reg reg_least(reg x, reg y)
{
    return reg_unless_nan(x, y, _mm256_min_ps(x, y));
}

PATH_TARGET static inline reg reg_greatest(reg x, reg y)
{
    return reg_unless_nan(x, y, _mm256_max_ps(x, y));
}

#include "lib/reduce/reduce_pairs.h"

#include "lib/reduce/reduce_loops.h"

#endif
