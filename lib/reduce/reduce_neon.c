/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops for aarch64, where every processor has NEON with conversions from and to float16;
 * see reduce_path.h. For C types the compiler makes the same of these loops as of the portable
 * ones. */
#include "lib/reduce/reduce_path.h"

#ifdef REDUCE_AARCH64

#include <arm_neon.h>

#define PATH reduce_neon
#define PATH_NAME "neon"
#define PATH_SUPPORTED on_any_aarch64
#define PATH_TARGET

static bool on_any_aarch64(void)
{
    return true;
}

typedef float32x4_t reg;
typedef uint32x4_t words;
enum { REG = 4 };

/* Loads and stores are of bytes, since a float would have to be aligned. */
#define as_reg(x) vreinterpretq_f32_u32(x)
#define as_words(x) vreinterpretq_u32_f32(x)
#define reg_load(from) vreinterpretq_f32_u8(vld1q_u8((const unsigned char *)(from)))
#define reg_store(to, x) vst1q_u8((unsigned char *)(to), vreinterpretq_u8_f32(x))
#define reg_all(x) vdupq_n_f32(x)
#define reg_quotient(x, y) vdivq_f32(x, y)
#define words_load(from) vreinterpretq_u32_u8(vld1q_u8((const unsigned char *)(from)))
#define words_store(to, x) vst1q_u8((unsigned char *)(to), vreinterpretq_u8_u32(x))
#define words_up(x) vshlq_n_u32(x, 16)
#define words_upper(x) vandq_u32(x, vdupq_n_u32(0xffff0000))
#define words_round(x) neon_round(x)
#define words_join(even, odd) neon_join(even, odd)
#define reg_from_float16(from) neon_from_float16(from)
#define reg_to_float16(to, x) neon_to_float16(to, x)
#define reg_from_bfloat16(from) neon_from_bfloat16(from)
#define reg_to_bfloat16(to, x) neon_to_bfloat16(to, x)
#define reg_sum(x, y) neon_sum(x, y)
#define reg_product(x, y) neon_product(x, y)
#define reg_least(x, y) neon_least(x, y)
#define reg_greatest(x, y) neon_greatest(x, y)

static inline words neon_round(words x)
{
    words odd = vandq_u32(vshrq_n_u32(x, 16), vdupq_n_u32(1));
    return vaddq_u32(x, vaddq_u32(odd, vdupq_n_u32(0x7fff)));
}

static inline words neon_join(words even, words odd)
{
    return vsriq_n_u32(odd, even, 16);
}

static inline reg neon_from_float16(const unsigned char *from)
{
    return vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(from)));
}

static inline void neon_to_float16(unsigned char *to, reg x)
{
    vst1_u8(to, vreinterpret_u8_f16(vcvt_f16_f32(x)));
}

static inline reg neon_from_bfloat16(const unsigned char *from)
{
    return as_reg(vshll_n_u16(vreinterpret_u16_u8(vld1_u8(from)), 16));
}

static inline void neon_to_bfloat16(unsigned char *to, reg x)
{
    words is_number = vceqq_f32(x, x);
    words quiet = vorrq_u32(as_words(x), vdupq_n_u32(0x400000));
    words rounded = vbslq_u32(is_number, neon_round(as_words(x)), quiet);
    vst1_u8(to, vreinterpret_u8_u16(vshrn_n_u32(rounded, 16)));
}

/* The instruction would return a signaling NaN before a quiet one: if x is NaN, it is both
 * operands. */
static inline reg neon_nan_or(reg x, reg y)
{
    return vbslq_f32(vceqq_f32(x, x), y, x);
}

/* float32_made() of half.h. */
static inline reg neon_made(reg x, reg y, reg result)
{
    words numbers = vandq_u32(vceqq_f32(x, x), vceqq_f32(y, y));
    words made = vbicq_u32(numbers, vceqq_f32(result, result));
    return as_reg(vorrq_u32(as_words(result), vshlq_n_u32(made, 31)));
}

static inline reg neon_sum(reg x, reg y)
{
    return neon_made(x, y, vaddq_f32(x, neon_nan_or(x, y)));
}

static inline reg neon_product(reg x, reg y)
{
    return neon_made(x, y, vmulq_f32(x, neon_nan_or(x, y)));
}

/* The sum where either operand is NaN. */
static inline reg neon_unless_nan(reg x, reg y, reg chosen)
{
    words numbers = vandq_u32(vceqq_f32(x, x), vceqq_f32(y, y));
    return vbslq_f32(numbers, chosen, vaddq_f32(x, neon_nan_or(x, y)));
}

/* Of two zeros the second one, as on other processors. */
static inline reg neon_least(reg x, reg y)
{
    return neon_unless_nan(x, y, vbslq_f32(vcltq_f32(x, y), x, y));
}

static inline reg neon_greatest(reg x, reg y)
{
    return neon_unless_nan(x, y, vbslq_f32(vcgtq_f32(x, y), x, y));
}

#include "lib/reduce/reduce_pairs.h"

#include "lib/reduce/reduce_loops.h"

#endif
