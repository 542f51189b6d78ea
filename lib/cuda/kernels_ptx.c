/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the PTX text; see kernels_ptx.h.
 *
 * A kernel is a loop: load an element into %x, a few instructions that leave the product in %z,
 * store it. Integers are scaled as double and cut to the range of their type. Halves are widened to
 * float32 and rounded once, half to even; bfloat16 has no instructions below sm_90, so shifts widen
 * and round it.
 *
 * Registers that the lines below use:
 *   %x %z      the element and the product, of the type's register type
 *   %f0        float32   %d0 double   %r0 to %r3 32 bits   %l0 to %l6 64 bits   %p0, %p1   %h0
 *   %factor    the factor, double */
#include "lib/cuda/kernels_ptx.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* How elements are computed. */
enum family { INTEGER, FLOAT, HALF, BFLOAT };

static const struct element {
    const char *name; /* NULL: there is no kernel */
    int nbytes;
    enum family family;
    const char *loaded;           /* ld and st: "u8" */
    const char *kept;             /* registers of %x and %z */
    const char *type;             /* of conversions, for integers */
    const char *least, *greatest; /* of integers, as double */
} elements[KERNEL_DTYPES] = {
    [HVD_UINT8] = { "uint8", 1, INTEGER, "u8", "b32", "u32", "0d0000000000000000",
                    "0d406FE00000000000" },
    [HVD_INT8] = { "int8", 1, INTEGER, "s8", "b32", "s32", "0dC060000000000000",
                   "0d405FC00000000000" },
    [HVD_INT32] = { "int32", 4, INTEGER, "s32", "b32", "s32", "0dC1E0000000000000",
                    "0d41DFFFFFFFC00000" },
    [HVD_INT64] = { "int64", 8, INTEGER, "s64", "b64", "s64", NULL, NULL },
    [HVD_FLOAT16] = { "float16", 2, HALF, "b16", "f32", NULL, NULL, NULL },
    [HVD_FLOAT32] = { "float32", 4, FLOAT, "f32", "f32", NULL, NULL, NULL },
    [HVD_FLOAT64] = { "float64", 8, FLOAT, "f64", "f64", NULL, NULL, NULL },
    [HVD_BFLOAT16] = { "bfloat16", 2, BFLOAT, "u16", "f32", NULL, NULL, NULL },
};

bool kernel_exists(enum hvd_dtype dtype)
{
    return (int)dtype >= 0 && (int)dtype < KERNEL_DTYPES && elements[dtype].name;
}

void kernel_name(char name[KERNEL_NAME], enum hvd_dtype dtype)
{
    snprintf(name, KERNEL_NAME, "hvd_scale_%s", elements[dtype].name);
}

/* ---- text that grows ---- */

struct ptx {
    char *text;
    size_t length, room;
    bool failed;
};

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

__attribute__((format(printf, 2, 3))) static void put(struct ptx *ptx, const char *format, ...)
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

/* Loads the element at offset %l5 from %l1 into %x. */
static void put_load(struct ptx *ptx, const struct element *element)
{
    put(ptx, "add.u64 %%l6, %%l1, %%l5;");
    if (element->family == HALF) {
        put(ptx, "ld.global.b16 %%h0, [%%l6];");
        put(ptx, "cvt.f32.f16 %%x, %%h0;");
    } else if (element->family == BFLOAT) {
        put(ptx, "ld.global.u16 %%r0, [%%l6];");
        put(ptx, "shl.b32 %%r0, %%r0, 16;");
        put(ptx, "mov.b32 %%x, %%r0;");
    } else {
        put(ptx, "ld.global.%s %%x, [%%l6];", element->loaded);
    }
}

/* Rounds %z to the upper half of its bits, half to even. A NaN stays one: its upper half gets a bit
 * that is set. */
static void put_bfloat(struct ptx *ptx)
{
    put(ptx, "mov.b32 %%r0, %%z;");
    put(ptx, "shr.u32 %%r1, %%r0, 16;");
    put(ptx, "and.b32 %%r2, %%r1, 1;");
    put(ptx, "add.u32 %%r2, %%r2, 32767;");
    put(ptx, "add.u32 %%r2, %%r0, %%r2;");
    put(ptx, "shr.u32 %%r2, %%r2, 16;");
    put(ptx, "or.b32 %%r1, %%r1, 64;");
    put(ptx, "setp.nan.f32 %%p1, %%z, %%z;");
    put(ptx, "selp.b32 %%r0, %%r1, %%r2, %%p1;");
}

static void put_store(struct ptx *ptx, const struct element *element)
{
    put(ptx, "add.u64 %%l6, %%l0, %%l5;");
    if (element->family == HALF) {
        put(ptx, "cvt.rn.f16.f32 %%h0, %%z;");
        put(ptx, "st.global.b16 [%%l6], %%h0;");
    } else if (element->family == BFLOAT) {
        put_bfloat(ptx);
        put(ptx, "st.global.u16 [%%l6], %%r0;");
    } else {
        put(ptx, "st.global.%s [%%l6], %%z;", element->loaded);
    }
}

/* ---- scaling ---- */

/* A product that is NaN (0 times a factor that became infinite) becomes 0, as a conversion of NaN
 * does not on every GPU. */
static void put_integer_scale(struct ptx *ptx, const struct element *element)
{
    put(ptx, "cvt.rn.f64.%s %%d0, %%x;", element->type);
    put(ptx, "mul.rn.f64 %%d0, %%d0, %%factor;");
    put(ptx, "setp.nan.f64 %%p1, %%d0, %%d0;");
    put(ptx, "selp.f64 %%d0, 0d0000000000000000, %%d0, %%p1;");
    if (element->least) {
        put(ptx, "max.f64 %%d0, %%d0, %s;", element->least);
        put(ptx, "min.f64 %%d0, %%d0, %s;", element->greatest);
    }
    put(ptx, "cvt.rzi.%s.f64 %%z, %%d0;", element->type);
}

static void put_scale(struct ptx *ptx, const struct element *element)
{
    if (element->family == INTEGER) {
        put_integer_scale(ptx, element);
    } else if (element->nbytes == 8) {
        put(ptx, "mul.rn.f64 %%z, %%x, %%factor;");
    } else {
        put(ptx, "cvt.rn.f32.f64 %%f0, %%factor;");
        put(ptx, "mul.rn.f32 %%z, %%x, %%f0;");
    }
}

/* ---- kernels ---- */

static void put_beginning(struct ptx *ptx, const char *name, const struct element *element)
{
    put(ptx, ".visible .entry %s(.param .u64 %s_out, .param .u64 %s_in,", name, name, name);
    put(ptx, ".param .u64 %s_count, .param .f64 %s_factor)", name, name);
    put(ptx, "{");
    put(ptx, ".reg .pred %%p<2>;");
    put(ptx, ".reg .b16 %%h<1>;");
    put(ptx, ".reg .b32 %%r<4>;");
    put(ptx, ".reg .b64 %%l<7>;");
    put(ptx, ".reg .f32 %%f<1>;");
    put(ptx, ".reg .f64 %%d<1>;");
    put(ptx, ".reg .f64 %%factor;");
    put(ptx, ".reg .%s %%x, %%z;", element->kept);
    put(ptx, "ld.param.u64 %%l0, [%s_out];", name);
    put(ptx, "ld.param.u64 %%l1, [%s_in];", name);
    put(ptx, "ld.param.u64 %%l2, [%s_count];", name);
    put(ptx, "ld.param.f64 %%factor, [%s_factor];", name);
    put(ptx, "cvta.to.global.u64 %%l0, %%l0;");
    put(ptx, "cvta.to.global.u64 %%l1, %%l1;");
    put(ptx, "mov.u32 %%r0, %%ctaid.x;");
    put(ptx, "mov.u32 %%r1, %%ntid.x;");
    put(ptx, "mov.u32 %%r2, %%tid.x;");
    put(ptx, "mov.u32 %%r3, %%nctaid.x;");
    put(ptx, "mul.wide.u32 %%l3, %%r0, %%r1;");
    put(ptx, "cvt.u64.u32 %%l4, %%r2;");
    put(ptx, "add.u64 %%l3, %%l3, %%l4;");
    put(ptx, "mul.wide.u32 %%l4, %%r3, %%r1;");
}

static void put_kernel(struct ptx *ptx, enum hvd_dtype dtype)
{
    char name[KERNEL_NAME];
    const struct element *element = &elements[dtype];
    kernel_name(name, dtype);
    put_beginning(ptx, name, element);
    put(ptx, "next:");
    put(ptx, "setp.ge.u64 %%p0, %%l3, %%l2;");
    put(ptx, "@%%p0 bra done;");
    put(ptx, "mul.lo.u64 %%l5, %%l3, %d;", element->nbytes);
    put_load(ptx, element);
    put_scale(ptx, element);
    put_store(ptx, element);
    put(ptx, "add.u64 %%l3, %%l3, %%l4;");
    put(ptx, "bra next;");
    put(ptx, "done:");
    put(ptx, "ret;");
    put(ptx, "}");
}

char *kernels_ptx(void)
{
    struct ptx ptx = { 0 };
    put(&ptx, ".version 6.0");
    put(&ptx, ".target sm_60");
    put(&ptx, ".address_size 64");
    for (int dtype = 0; dtype < KERNEL_DTYPES; dtype++)
        if (kernel_exists((enum hvd_dtype)dtype))
            put_kernel(&ptx, (enum hvd_dtype)dtype);
    if (!ptx.failed)
        return ptx.text;
    free(ptx.text);
    return NULL;
}
