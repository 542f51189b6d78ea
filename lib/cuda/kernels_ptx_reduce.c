/* SPDX-License-Identifier: Apache-2.0 */
/* The instructions that combine two elements; see kernels_ptx.h.
 *
 * Integers wrap around in their own type: a sum or product of the lower bits is that of the whole,
 * and only an average cuts the sum before it is divided. The minimum of floating point is made of a
 * comparison, because min.f32 returns the operand that is no NaN. */
#include "lib/cuda/kernels_ptx_impl.h"

static void put_integer_average(struct ptx *ptx, const struct element *element)
{
    bool is_signed = element->type[0] == 's';
    if (element->nbytes == 8) {
        ptx_put(ptx, "add.u64 %%z, %%x, %%y;");
        ptx_put(ptx, "div.s64 %%z, %%z, %%l8;");
        return;
    }
    ptx_put(ptx, "add.u32 %%z, %%x, %%y;");
    if (element->nbytes < 4)
        ptx_put(ptx, "cvt.%s.%c%d %%z, %%z;", element->type, is_signed ? 's' : 'u',
                8 * element->nbytes);
    ptx_put(ptx, "cvt.u32.u64 %%r0, %%l8;");
    ptx_put(ptx, "div.%s %%z, %%z, %%r0;", element->type);
}

static void put_integer_reduction(struct ptx *ptx, enum kernel_act act,
                                  const struct element *element)
{
    int bits = element->nbytes == 8 ? 64 : 32;
    if (act == KERNEL_SUM)
        ptx_put(ptx, "add.u%d %%z, %%x, %%y;", bits);
    else if (act == KERNEL_PRODUCT)
        ptx_put(ptx, "mul.lo.u%d %%z, %%x, %%y;", bits);
    else if (act == KERNEL_AVERAGE)
        put_integer_average(ptx, element);
    else
        ptx_put(ptx, "%s.%s %%z, %%x, %%y;", act == KERNEL_MIN ? "min" : "max", element->type);
}

/* NaN if %x or %y is: a comparison with NaN is false, which chooses %y. */
static void put_float_extreme(struct ptx *ptx, const char *comparison, int bits)
{
    ptx_put(ptx, "setp.%s.f%d %%p1, %%x, %%y;", comparison, bits);
    ptx_put(ptx, "selp.f%d %%z, %%x, %%y, %%p1;", bits);
    ptx_put(ptx, "setp.nan.f%d %%p1, %%x, %%x;", bits);
    ptx_put(ptx, "selp.f%d %%z, %%x, %%z, %%p1;", bits);
}

/* Also of halves, which are float32 here. */
static void put_float_reduction(struct ptx *ptx, enum kernel_act act, int bits)
{
    if (act == KERNEL_MIN || act == KERNEL_MAX) {
        put_float_extreme(ptx, act == KERNEL_MIN ? "lt" : "gt", bits);
        return;
    }
    ptx_put(ptx, "%s.rn.f%d %%z, %%x, %%y;", act == KERNEL_PRODUCT ? "mul" : "add", bits);
    if (act == KERNEL_AVERAGE) {
        const char *divisor = bits == 64 ? "%d0" : "%f0";
        ptx_put(ptx, "cvt.rn.f%d.u64 %s, %%l8;", bits, divisor);
        ptx_put(ptx, "div.rn.f%d %%z, %%z, %s;", bits, divisor);
    }
}

static void put_truth(struct ptx *ptx, const char *name)
{
    ptx_put(ptx, "setp.ne.u32 %%p1, %s, 0;", name);
    ptx_put(ptx, "selp.b32 %s, 1, 0, %%p1;", name);
}

/* Sum and maximum are "or", product and minimum are "and". */
static void put_bool_reduction(struct ptx *ptx, enum kernel_act act)
{
    bool is_or = act == KERNEL_SUM || act == KERNEL_MAX;
    put_truth(ptx, "%x");
    put_truth(ptx, "%y");
    ptx_put(ptx, "%s.b32 %%z, %%x, %%y;", is_or ? "or" : "and");
}

void ptx_put_reduction(struct ptx *ptx, enum kernel_act act, const struct element *element)
{
    if (element->family == INTEGER)
        put_integer_reduction(ptx, act, element);
    else if (element->family == BOOL)
        put_bool_reduction(ptx, act);
    else
        put_float_reduction(ptx, act, element->family == FLOAT && element->nbytes == 8 ? 64 : 32);
}
