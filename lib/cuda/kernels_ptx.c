/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the PTX text; see kernels_ptx.h.
 *
 * A kernel is a loop: load an element into %x, or two into %x and %y, a few instructions that leave
 * the result in %z, store it. Integers are scaled as double and cut to the range of their type.
 * Halves are widened to float32 and rounded once, half to even; bfloat16 has no instructions below
 * sm_90, so shifts widen and round it.
 *
 * Registers that the lines below use:
 *   %x %y %z   the elements and the result, of the type's register type
 *   %f0        float32   %d0 double   %r0 to %r3 32 bits   %l0 to %l8 64 bits   %p0, %p1   %h0
 *   %factor    the factor, double */
#include "lib/cuda/kernels_ptx_impl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const acts[KERNEL_ACTS] = {
    [KERNEL_SCALE] = "scale", [KERNEL_SUM] = "sum", [KERNEL_PRODUCT] = "product",
    [KERNEL_MIN] = "min",     [KERNEL_MAX] = "max", [KERNEL_AVERAGE] = "average",
};

static const struct element elements[KERNEL_DTYPES] = {
    [HVD_UINT8] = { "uint8", 1, INTEGER, "u8", "b32", "u32", "0d0000000000000000",
                    "0d406FE00000000000" },
    [HVD_INT8] = { "int8", 1, INTEGER, "s8", "b32", "s32", "0dC060000000000000",
                   "0d405FC00000000000" },
    [HVD_UINT16] = { "uint16", 2, INTEGER, "u16", "b32", "u32", "0d0000000000000000",
                     "0d40EFFFE000000000" },
    [HVD_INT16] = { "int16", 2, INTEGER, "s16", "b32", "s32", "0dC0E0000000000000",
                    "0d40DFFFC000000000" },
    [HVD_INT32] = { "int32", 4, INTEGER, "s32", "b32", "s32", "0dC1E0000000000000",
                    "0d41DFFFFFFFC00000" },
    [HVD_INT64] = { "int64", 8, INTEGER, "s64", "b64", "s64", NULL, NULL },
    [HVD_FLOAT16] = { "float16", 2, HALF, "b16", "f32", NULL, NULL, NULL },
    [HVD_FLOAT32] = { "float32", 4, FLOAT, "f32", "f32", NULL, NULL, NULL },
    [HVD_FLOAT64] = { "float64", 8, FLOAT, "f64", "f64", NULL, NULL, NULL },
    [HVD_BOOL] = { "bool", 1, BOOL, "u8", "b32", NULL, NULL, NULL },
    [HVD_BFLOAT16] = { "bfloat16", 2, BFLOAT, "u16", "f32", NULL, NULL, NULL },
};

static bool element_exists(enum hvd_dtype dtype)
{
    return (int)dtype >= 0 && (int)dtype < KERNEL_DTYPES && elements[dtype].name;
}

bool kernel_exists(enum kernel_act act, enum hvd_dtype dtype)
{
    return element_exists(dtype) &&
           (elements[dtype].family != BOOL || (act != KERNEL_SCALE && act != KERNEL_AVERAGE));
}

size_t kernel_element_bytes(enum hvd_dtype dtype)
{
    return element_exists(dtype) ? (size_t)elements[dtype].nbytes : 0;
}

void kernel_name(char name[KERNEL_NAME], enum kernel_act act, enum hvd_dtype dtype)
{
    snprintf(name, KERNEL_NAME, "hvd_%s_%s", acts[act], elements[dtype].name);
}

/* ---- text that grows ---- */

static bool ptx_grow(struct ptx *ptx, size_t more)
{
    size_t room = ptx->length + more + 1;
    if (room <= ptx->room)
        return true;
    char *text = realloc(ptx->text, 2 * room);
    ptx->failed = !text;
    if (!text)
        return false;
    ptx->text = text;
    ptx->room = 2 * room;
    return true;
}

void ptx_put(struct ptx *ptx, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (ptx->failed || !ptx_grow(ptx, (size_t)length + 1))
        return;
    ptx->length += (size_t)snprintf(ptx->text + ptx->length, ptx->room - ptx->length, "%s\n", line);
}

/* ---- elements ---- */

/* Loads the element at offset %l5 from `base` into %x or %y. */
static void put_load(struct ptx *ptx, const struct element *element, const char *into,
                     const char *base)
{
    ptx_put(ptx, "add.u64 %%l6, %s, %%l5;", base);
    if (element->family == HALF) {
        ptx_put(ptx, "ld.global.b16 %%h0, [%%l6];");
        ptx_put(ptx, "cvt.f32.f16 %s, %%h0;", into);
    } else if (element->family == BFLOAT) {
        ptx_put(ptx, "ld.global.u16 %%r0, [%%l6];");
        ptx_put(ptx, "shl.b32 %%r0, %%r0, 16;");
        ptx_put(ptx, "mov.b32 %s, %%r0;", into);
    } else {
        ptx_put(ptx, "ld.global.%s %s, [%%l6];", element->loaded, into);
    }
}

/* Rounds %z to the upper half of its bits, half to even. A NaN stays one: its upper half gets a bit
 * that is set. */
static void put_bfloat(struct ptx *ptx)
{
    ptx_put(ptx, "mov.b32 %%r0, %%z;");
    ptx_put(ptx, "shr.u32 %%r1, %%r0, 16;");
    ptx_put(ptx, "and.b32 %%r2, %%r1, 1;");
    ptx_put(ptx, "add.u32 %%r2, %%r2, 32767;");
    ptx_put(ptx, "add.u32 %%r2, %%r0, %%r2;");
    ptx_put(ptx, "shr.u32 %%r2, %%r2, 16;");
    ptx_put(ptx, "or.b32 %%r1, %%r1, 64;");
    ptx_put(ptx, "setp.nan.f32 %%p1, %%z, %%z;");
    ptx_put(ptx, "selp.b32 %%r0, %%r1, %%r2, %%p1;");
}

static void put_store(struct ptx *ptx, const struct element *element)
{
    ptx_put(ptx, "add.u64 %%l6, %%l0, %%l5;");
    if (element->family == HALF) {
        ptx_put(ptx, "cvt.rn.f16.f32 %%h0, %%z;");
        ptx_put(ptx, "st.global.b16 [%%l6], %%h0;");
    } else if (element->family == BFLOAT) {
        put_bfloat(ptx);
        ptx_put(ptx, "st.global.u16 [%%l6], %%r0;");
    } else {
        ptx_put(ptx, "st.global.%s [%%l6], %%z;", element->loaded);
    }
}

/* ---- scaling ---- */

/* A product that is NaN (0 times a factor that became infinite) becomes 0, as a conversion of NaN
 * does not on every GPU. */
static void put_integer_scale(struct ptx *ptx, const struct element *element)
{
    ptx_put(ptx, "cvt.rn.f64.%s %%d0, %%x;", element->type);
    ptx_put(ptx, "mul.rn.f64 %%d0, %%d0, %%factor;");
    ptx_put(ptx, "setp.nan.f64 %%p1, %%d0, %%d0;");
    ptx_put(ptx, "selp.f64 %%d0, 0d0000000000000000, %%d0, %%p1;");
    if (element->least) {
        ptx_put(ptx, "max.f64 %%d0, %%d0, %s;", element->least);
        ptx_put(ptx, "min.f64 %%d0, %%d0, %s;", element->greatest);
    }
    ptx_put(ptx, "cvt.rzi.%s.f64 %%z, %%d0;", element->type);
}

static void put_scale(struct ptx *ptx, const struct element *element)
{
    if (element->family == INTEGER) {
        put_integer_scale(ptx, element);
    } else if (element->nbytes == 8) {
        ptx_put(ptx, "mul.rn.f64 %%z, %%x, %%factor;");
    } else {
        ptx_put(ptx, "cvt.rn.f32.f64 %%f0, %%factor;");
        ptx_put(ptx, "mul.rn.f32 %%z, %%x, %%f0;");
    }
}

/* ---- kernels ---- */

static void put_parameters(struct ptx *ptx, const char *name, bool scales)
{
    ptx_put(ptx, ".visible .entry %s(.param .u64 %s_out, .param .u64 %s_left,", name, name, name);
    if (scales)
        ptx_put(ptx, ".param .u64 %s_count, .param .f64 %s_factor)", name, name);
    else
        ptx_put(ptx, ".param .u64 %s_right, .param .u64 %s_count, .param .u64 %s_divisor)", name,
                name, name);
}

static void put_registers(struct ptx *ptx, const struct element *element)
{
    ptx_put(ptx, ".reg .pred %%p<2>;");
    ptx_put(ptx, ".reg .b16 %%h<1>;");
    ptx_put(ptx, ".reg .b32 %%r<4>;");
    ptx_put(ptx, ".reg .b64 %%l<9>;");
    ptx_put(ptx, ".reg .f32 %%f<1>;");
    ptx_put(ptx, ".reg .f64 %%d<1>;");
    ptx_put(ptx, ".reg .f64 %%factor;");
    ptx_put(ptx, ".reg .%s %%x, %%y, %%z;", element->kept);
}

/* %l0 out, %l1 left, %l7 right, %l2 count, %l3 this thread's first element, %l4 the number of
 * threads, %l8 divisor. */
static void put_beginning(struct ptx *ptx, const char *name, bool scales)
{
    ptx_put(ptx, "ld.param.u64 %%l0, [%s_out];", name);
    ptx_put(ptx, "ld.param.u64 %%l1, [%s_left];", name);
    ptx_put(ptx, "ld.param.u64 %%l2, [%s_count];", name);
    ptx_put(ptx, "cvta.to.global.u64 %%l0, %%l0;");
    ptx_put(ptx, "cvta.to.global.u64 %%l1, %%l1;");
    if (scales) {
        ptx_put(ptx, "ld.param.f64 %%factor, [%s_factor];", name);
    } else {
        ptx_put(ptx, "ld.param.u64 %%l7, [%s_right];", name);
        ptx_put(ptx, "ld.param.u64 %%l8, [%s_divisor];", name);
        ptx_put(ptx, "cvta.to.global.u64 %%l7, %%l7;");
    }
    ptx_put(ptx, "mov.u32 %%r0, %%ctaid.x;");
    ptx_put(ptx, "mov.u32 %%r1, %%ntid.x;");
    ptx_put(ptx, "mov.u32 %%r2, %%tid.x;");
    ptx_put(ptx, "mov.u32 %%r3, %%nctaid.x;");
    ptx_put(ptx, "mul.wide.u32 %%l3, %%r0, %%r1;");
    ptx_put(ptx, "cvt.u64.u32 %%l4, %%r2;");
    ptx_put(ptx, "add.u64 %%l3, %%l3, %%l4;");
    ptx_put(ptx, "mul.wide.u32 %%l4, %%r3, %%r1;");
}

static void put_kernel(struct ptx *ptx, enum kernel_act act, enum hvd_dtype dtype)
{
    char name[KERNEL_NAME];
    const struct element *element = &elements[dtype];
    bool scales = act == KERNEL_SCALE;
    kernel_name(name, act, dtype);
    put_parameters(ptx, name, scales);
    ptx_put(ptx, "{");
    put_registers(ptx, element);
    put_beginning(ptx, name, scales);
    ptx_put(ptx, "next:");
    ptx_put(ptx, "setp.ge.u64 %%p0, %%l3, %%l2;");
    ptx_put(ptx, "@%%p0 bra done;");
    ptx_put(ptx, "mul.lo.u64 %%l5, %%l3, %d;", element->nbytes);
    put_load(ptx, element, "%x", "%l1");
    if (scales) {
        put_scale(ptx, element);
    } else {
        put_load(ptx, element, "%y", "%l7");
        ptx_put_reduction(ptx, act, element);
    }
    put_store(ptx, element);
    ptx_put(ptx, "add.u64 %%l3, %%l3, %%l4;");
    ptx_put(ptx, "bra next;");
    ptx_put(ptx, "done:");
    ptx_put(ptx, "ret;");
    ptx_put(ptx, "}");
}

char *kernels_ptx(int nacts)
{
    struct ptx ptx = { 0 };
    ptx_put(&ptx, ".version 6.0");
    ptx_put(&ptx, ".target sm_60");
    ptx_put(&ptx, ".address_size 64");
    for (int act = 0; act < nacts; act++)
        for (int dtype = 0; dtype < KERNEL_DTYPES; dtype++)
            if (kernel_exists((enum kernel_act)act, (enum hvd_dtype)dtype))
                put_kernel(&ptx, (enum kernel_act)act, (enum hvd_dtype)dtype);
    if (!ptx.failed)
        return ptx.text;
    free(ptx.text);
    return NULL;
}
