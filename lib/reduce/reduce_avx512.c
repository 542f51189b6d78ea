/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops for x86-64 with AVX-512 (F, BW, DQ and VL); see reduce_path.h. Some processors
 * have an instruction for bfloat16, which is not used because it takes denormals for zero. */
#include "lib/reduce/reduce_path.h"

#ifdef REDUCE_X86_64

#include <immintrin.h>

#define PATH reduce_avx512
#define PATH_NAME "avx512"
#define PATH_SUPPORTED has_avx512

/* The vectoriser uses 256 bits: in the cache this is as fast as 512, and beyond it a tenth faster
 * (bench/README.md). */
#ifdef __clang__
#define PREFER_256_BITS
#else
#define PREFER_256_BITS ",prefer-vector-width=256"
#endif
#define PATH_TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl" PREFER_256_BITS)))

static bool has_avx512(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

typedef __m512 reg;
typedef __m512i words;
enum { REG = 16 };

#define as_reg(x) _mm512_castsi512_ps(x)
#define as_words(x) _mm512_castps_si512(x)
#define reg_load(from) _mm512_loadu_ps(from)
#define reg_store(to, x) _mm512_storeu_ps(to, x)
#define reg_all(x) _mm512_set1_ps(x)
#define reg_quotient(x, y) _mm512_div_ps(x, y)
#define words_load(from) _mm512_loadu_si512(from)
#define words_store(to, x) _mm512_storeu_si512(to, x)
#define words_up(x) _mm512_slli_epi32(x, 16)
#define words_upper(x) _mm512_and_si512(x, _mm512_set1_epi32((int)0xffff0000))

PATH_TARGET static inline words words_round(words x)
{
    words odd = _mm512_and_si512(_mm512_srli_epi32(x, 16), _mm512_set1_epi32(1));
    return _mm512_add_epi32(x, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
}

PATH_TARGET static inline words words_join(words even, words odd)
{
    return _mm512_or_si512(_mm512_srli_epi32(even, 16), words_upper(odd));
}

PATH_TARGET static inline reg reg_from_float16(const void *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(from));
}

PATH_TARGET static inline void reg_to_float16(void *to, reg x)
{
    _mm256_storeu_si256(to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

PATH_TARGET static inline reg reg_from_bfloat16(const void *from)
{
    return as_reg(words_up(_mm512_cvtepu16_epi32(_mm256_loadu_si256(from))));
}

PATH_TARGET static inline void reg_to_bfloat16(void *to, reg x)
{
    enum { QUIET = 0x01, SIGNALLING = 0x80 };
    words upper = _mm512_srli_epi32(as_words(x), 16);
    words rounded = _mm512_srli_epi32(words_round(as_words(x)), 16);
    __mmask16 is_nan = _mm512_fpclass_ps_mask(x, QUIET | SIGNALLING);
    words halves = _mm512_mask_or_epi32(rounded, is_nan, upper, _mm512_set1_epi32(0x40));
    _mm256_storeu_si256(to, _mm512_cvtepi32_epi16(halves));
}

/* An intrinsic, not an expression: a compiler may exchange the operands of an expression. */
PATH_TARGET static inline reg reg_sum(reg x, reg y)
{
    reg sum;
    __asm__("vaddps %2, %1, %0" : "=v"(sum) : "v"(x), "v"(y));
    return sum;
}

PATH_TARGET static inline reg reg_product(reg x, reg y)
{
    reg product;
    __asm__("vmulps %2, %1, %0" : "=v"(product) : "v"(x), "v"(y));
    return product;
}

/* The sum where either operand is NaN. From an expression Clang 14 makes a slow comparison of
 * float16s that have just been widened. The instructions for minimum and maximum return the second
 * operand when both are zero. */
PATH_TARGET static inline reg reg_unless_nan(reg x, reg y, reg chosen)
{
    __mmask16 is_nan;
    __asm__("vcmpunordps %2, %1, %0" : "=Yk"(is_nan) : "v"(x), "v"(y));
    __asm__("vaddps %2, %1, %0%{%3%}" : "+v"(chosen) : "v"(x), "v"(y), "Yk"(is_nan));
    return chosen;
}

PATH_TARGET static inline reg reg_least(reg x, reg y)
{
    return reg_unless_nan(x, y, _mm512_min_ps(x, y));
}

PATH_TARGET static inline reg reg_greatest(reg x, reg y)
{
    return reg_unless_nan(x, y, _mm512_max_ps(x, y));
}

#include "lib/reduce/reduce_pairs.h"

#include "lib/reduce/reduce_loops.h"

#endif
