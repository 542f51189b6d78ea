/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops for x86-64 with AVX-512 (F, BW, DQ and VL); see reduce_path.h. The instruction
 * for bfloat16 that some have is not used: it takes denormals for zero. */
#include "lib/reduce/reduce_path.h"

#ifdef REDUCE_X86_64

#include <immintrin.h>

#define PATH reduce_avx512
#define PATH_NAME "avx512"
#define PATH_SUPPORTED has_avx512

/* What the vectoriser makes has 256 bits: in the cache it is as fast as 512, and beyond it a tenth
 * faster (bench/README.md). */
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

typedef __m512 lanes;
#define LANES 16

/* Not a comparison: Clang 14 makes a slow one of float16s of one of floats that have just been
 * widened. */
PATH_TARGET static inline __mmask16 is_nan(lanes x)
{
    enum { QUIET = 0x01, SIGNALLING = 0x80 };
    return _mm512_fpclass_ps_mask(x, QUIET | SIGNALLING);
}

PATH_TARGET static inline lanes float16_load(const void *from)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256(from));
}

PATH_TARGET static inline void float16_store(void *to, lanes x)
{
    _mm256_storeu_si256(to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

PATH_TARGET static inline lanes bfloat16_load(const void *from)
{
    __m512i halves = _mm512_cvtepu16_epi32(_mm256_loadu_si256(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(halves, 16));
}

/* As bfloat16_from_float(). */
PATH_TARGET static inline void bfloat16_store(void *to, lanes x)
{
    __m512i bits = _mm512_castps_si512(x), upper = _mm512_srli_epi32(bits, 16);
    __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
    __m512i up = _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff));
    __m512i rounded = _mm512_srli_epi32(_mm512_add_epi32(bits, up), 16);
    __m512i halves = _mm512_mask_or_epi32(rounded, is_nan(x), upper, _mm512_set1_epi32(0x40));
    _mm256_storeu_si256(to, _mm512_cvtepi32_epi16(halves));
}

/* These instructions give the second operand when either is NaN or both are zero. */
PATH_TARGET static inline lanes lanes_least(lanes x, lanes y)
{
    return _mm512_min_ps(x, y);
}

PATH_TARGET static inline lanes lanes_greatest(lanes x, lanes y)
{
    return _mm512_max_ps(x, y);
}

PATH_TARGET static inline lanes lanes_nan_or(lanes x, lanes y)
{
    return _mm512_mask_blend_ps(is_nan(x), y, x);
}

#include "lib/reduce/reduce_loops.h"

#endif
