/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes for reduce_loops.h, made of two vector registers each. A path includes this file after it
 * has defined
 *
 *   PATH_TARGET                       attribute of each function: its instruction set
 *   reg, REG                          a register, and how many floats it holds
 *   words                             a register of 32-bit integers; casts as_reg() and as_words()
 *   reg_load(p), reg_store(p, x)      REG floats; p unaligned, as everywhere
 *   reg_from_TYPE(p), reg_to_TYPE(p, x)   REG elements of float16 or bfloat16
 *   reg_sum(x, y), reg_product(x, y)  of two NaNs the left one is the result
 *   reg_quotient(x, y)
 *   reg_least(x, y), reg_greatest(x, y)   with a NaN: as reg_sum()
 *   reg_all(x)                        a float everywhere
 *   words_load(p), words_store(p, x)
 *   words_up(x), words_upper(x)       shifted left by 16; the upper half of each
 *   words_round(x)                    its upper halves are bfloat16_from_float() of x, except
 *                                     for NaNs that have bits in the lower half
 *   words_join(even, odd)             the upper halves of both, in turn
 *
 * Spreading and packing halves costs more than adding them. So bfloat16 elements stay in their
 * order in memory, in two registers: one for even indices and one for odd indices. NaNs that are
 * sums of such elements have no bits in the lower half, and are quiet. */
typedef struct {
    reg a, b;
} lanes;

enum { LANES = 2 * REG };

PATH_TARGET static inline lanes float16_load(const unsigned char *from)
{
    return (lanes){ reg_from_float16(from), reg_from_float16(from + REG * sizeof(uint16_t)) };
}

PATH_TARGET static inline void float16_store(unsigned char *to, lanes x)
{
    reg_to_float16(to, x.a);
    reg_to_float16(to + REG * sizeof(uint16_t), x.b);
}

PATH_TARGET static inline lanes bfloat16_load(const unsigned char *from)
{
    words pairs = words_load(from);
    return (lanes){ as_reg(words_up(pairs)), as_reg(words_upper(pairs)) };
}

PATH_TARGET static inline void bfloat16_store(unsigned char *to, lanes x)
{
    words_store(to, words_join(words_round(as_words(x.a)), words_round(as_words(x.b))));
}

#define OF_EACH(act)                                                                               \
    PATH_TARGET static inline lanes lanes_##act(lanes x, lanes y)                                  \
    {                                                                                              \
        return (lanes){ reg_##act(x.a, y.a), reg_##act(x.b, y.b) };                                \
    }

OF_EACH(sum)
OF_EACH(product)
OF_EACH(quotient)
OF_EACH(least)
OF_EACH(greatest)

PATH_TARGET static inline lanes lanes_all(float x)
{
    return (lanes){ reg_all(x), reg_all(x) };
}

#define CONVERSIONS(type)                                                                          \
    PATH_TARGET static inline void type##_widen(unsigned char *to, const unsigned char *from)      \
    {                                                                                              \
        reg_store(to, reg_from_##type(from));                                                      \
        reg_store(to + sizeof(reg), reg_from_##type(from + REG * sizeof(uint16_t)));               \
    }                                                                                              \
    PATH_TARGET static inline void type##_narrow(unsigned char *to, const unsigned char *from)     \
    {                                                                                              \
        reg_to_##type(to, reg_load(from));                                                         \
        reg_to_##type(to + REG * sizeof(uint16_t), reg_load(from + sizeof(reg)));                  \
    }

CONVERSIONS(float16)
CONVERSIONS(bfloat16)
