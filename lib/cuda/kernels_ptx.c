/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the PTX text; see kernels_ptx.h.
 *
 * A kernel is a loop: load an element from each side into %x and %y (scale: %x alone), a few
 * instructions that leave the result in %z, store it. Integers of 8 and 16 bits are computed in 32
 * bits and cut when they are stored. Halves are widened to float32 and rounded once, half to even;
 * bfloat16 has no instructions below sm_90, so shifts widen and round it.
 *
 * Registers that the lines below use:
 *   %x %y %z   the elements, of the type's register type
 *   %f0 to %f5 float32   %d0, %d1 double   %r0 to %r5 32 bits   %l0 to %l9 64 bits   %p0, %p1   %h0
 *   %factor    the factor, double */
#include "lib/cuda/kernels_ptx.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* How elements are computed. */
enum family { INTEGER, FLOAT, HALF, BFLOAT, BOOL };

static const struct element {
    const char *name;
    int nbytes;
    enum family family;
    const char *loaded;           /* ld and st: "u8" */
    const char *kept;             /* registers of %x, %y and %z */
    const char *type;             /* of instructions */
    const char *bits;             /* of add and mul, whose sign does not matter */
    const char *least, *greatest; /* scale of integers: as double */
} elements[KERNEL_DTYPES] = {
    [HVD_UINT8] = { "uint8", 1, INTEGER, "u8", "b32", "u32", "u32", "0d0000000000000000",
                    "0d406FE00000000000" },
    [HVD_INT8] = { "int8", 1, INTEGER, "s8", "b32", "s32", "u32", "0dC060000000000000",
                   "0d405FC00000000000" },
    [HVD_UINT16] = { "uint16", 2, INTEGER, "u16", "b32", "u32", "u32", "0d0000000000000000",
                     "0d40EFFFE000000000" },
    [HVD_INT16] = { "int16", 2, INTEGER, "s16", "b32", "s32", "u32", "0dC0E0000000000000",
                    "0d40DFFFC000000000" },
    [HVD_INT32] = { "int32", 4, INTEGER, "s32", "b32", "s32", "u32", "0dC1E0000000000000",
                    "0d41DFFFFFFFC00000" },
    [HVD_INT64] = { "int64", 8, INTEGER, "s64", "b64", "s64", "u64", NULL, NULL },
    [HVD_FLOAT16] = { "float16", 2, HALF, "b16", "f32", "f32", "f32", NULL, NULL },
    [HVD_FLOAT32] = { "float32", 4, FLOAT, "f32", "f32", "f32", "f32", NULL, NULL },
    [HVD_FLOAT64] = { "float64", 8, FLOAT, "f64", "f64", "f64", "f64", NULL, NULL },
    [HVD_BOOL] = { "bool", 1, BOOL, "u8", "b32", "u32", "u32", NULL, NULL },
    [HVD_BFLOAT16] = { "bfloat16", 2, BFLOAT, "u16", "f32", "f32", "f32", NULL, NULL },
};

static const char *const op_names[KERNEL_OPS] = {
    [KERNEL_SUM] = "sum", [KERNEL_PRODUCT] = "product", [KERNEL_MIN] = "min",
    [KERNEL_MAX] = "max", [KERNEL_AVERAGE] = "average", [KERNEL_SCALE] = "scale",
};

bool kernel_exists(enum hvd_dtype dtype, enum kernel_op op)
{
    return (int)dtype >= 0 && (int)dtype < KERNEL_DTYPES &&
           (dtype != HVD_BOOL || op < KERNEL_AVERAGE);
}

void kernel_name(char name[KERNEL_NAME], enum hvd_dtype dtype, enum kernel_op op)
{
    snprintf(name, KERNEL_NAME, "hvd_%s_%s", op_names[op], elements[dtype].name);
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

/* Loads the element at offset %l6 from the address in `base` into `to`. */
static void put_load(struct ptx *ptx, const struct element *element, const char *base,
                     const char *to)
{
    put(ptx, "add.u64 %%l7, %s, %%l6;", base);
    if (element->family == HALF) {
        put(ptx, "ld.global.b16 %%h0, [%%l7];");
        put(ptx, "cvt.f32.f16 %s, %%h0;", to);
    } else if (element->family == BFLOAT) {
        put(ptx, "ld.global.u16 %%r0, [%%l7];");
        put(ptx, "shl.b32 %%r0, %%r0, 16;");
        put(ptx, "mov.b32 %s, %%r0;", to);
    } else {
        put(ptx, "ld.global.%s %s, [%%l7];", element->loaded, to);
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
    put(ptx, "add.u64 %%l7, %%l0, %%l6;");
    if (element->family == HALF) {
        put(ptx, "cvt.rn.f16.f32 %%h0, %%z;");
        put(ptx, "st.global.b16 [%%l7], %%h0;");
    } else if (element->family == BFLOAT) {
        put_bfloat(ptx);
        put(ptx, "st.global.u16 [%%l7], %%r0;");
    } else {
        put(ptx, "st.global.%s [%%l7], %%z;", element->loaded);
    }
}

/* ---- operations ---- */

static bool has_nan(const struct element *element)
{
    return element->family != INTEGER && element->family != BOOL;
}

/* The least or greatest; NaN if either is. `compares` is "lt" or "gt". */
static void put_choice(struct ptx *ptx, const struct element *element, const char *compares)
{
    put(ptx, "setp.%s.%s %%p1, %%x, %%y;", compares, element->type);
    put(ptx, "selp.%s %%z, %%x, %%y, %%p1;", element->kept);
    if (!has_nan(element))
        return;
    put(ptx, "setp.nan.%s %%p1, %%x, %%x;", element->type);
    put(ptx, "selp.%s %%z, %%x, %%z, %%p1;", element->kept);
}

static void put_sum(struct ptx *ptx, const struct element *element)
{
    put(ptx, has_nan(element) ? "add.rn.%s %%z, %%x, %%y;" : "add.%s %%z, %%x, %%y;",
        element->bits);
}

static void put_product(struct ptx *ptx, const struct element *element)
{
    put(ptx, has_nan(element) ? "mul.rn.%s %%z, %%x, %%y;" : "mul.lo.%s %%z, %%x, %%y;",
        element->bits);
}

static void put_logic(struct ptx *ptx, bool is_or)
{
    put(ptx, "setp.ne.u32 %%p1, %%x, 0;");
    put(ptx, "selp.b32 %%r0, 1, 0, %%p1;");
    put(ptx, "setp.ne.u32 %%p1, %%y, 0;");
    put(ptx, "selp.b32 %%r1, 1, 0, %%p1;");
    put(ptx, "%s.b32 %%z, %%r0, %%r1;", is_or ? "or" : "and");
}

/* The sum wraps around in its own type: 8 and 16 bits are cut before the division. */
static void put_integer_quotient(struct ptx *ptx, const struct element *element)
{
    if (element->nbytes < 4)
        put(ptx, "cvt.%s.%s %%z, %%z;", element->type, element->loaded);
    if (element->nbytes < 8) {
        put(ptx, "cvt.rzi.%s.f64 %%r0, %%factor;", element->type);
        put(ptx, "div.%s %%z, %%z, %%r0;", element->type);
    } else {
        put(ptx, "cvt.rzi.s64.f64 %%l8, %%factor;");
        put(ptx, "div.s64 %%z, %%z, %%l8;");
    }
}

static void put_average(struct ptx *ptx, const struct element *element)
{
    put_sum(ptx, element);
    if (element->family == INTEGER) {
        put_integer_quotient(ptx, element);
    } else if (element->nbytes == 8) {
        put(ptx, "div.rn.f64 %%z, %%z, %%factor;");
    } else {
        put(ptx, "cvt.rn.f32.f64 %%f0, %%factor;");
        put(ptx, "div.rn.f32 %%z, %%z, %%f0;");
    }
}

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

static void put_operation(struct ptx *ptx, const struct element *element, enum kernel_op op)
{
    bool is_bool = element->family == BOOL;
    switch (op) {
    case KERNEL_SUM:
        return is_bool ? put_logic(ptx, true) : put_sum(ptx, element);
    case KERNEL_PRODUCT:
        return is_bool ? put_logic(ptx, false) : put_product(ptx, element);
    case KERNEL_MIN:
        return is_bool ? put_logic(ptx, false) : put_choice(ptx, element, "lt");
    case KERNEL_MAX:
        return is_bool ? put_logic(ptx, true) : put_choice(ptx, element, "gt");
    case KERNEL_AVERAGE:
        return put_average(ptx, element);
    default:
        return put_scale(ptx, element);
    }
}

/* ---- kernels ---- */

static void put_beginning(struct ptx *ptx, const char *name, const struct element *element)
{
    put(ptx, ".visible .entry %s(.param .u64 %s_out, .param .u64 %s_left, .param .u64 %s_right,",
        name, name, name, name);
    put(ptx, ".param .u64 %s_count, .param .f64 %s_factor)", name, name);
    put(ptx, "{");
    put(ptx, ".reg .pred %%p<2>;");
    put(ptx, ".reg .b16 %%h<1>;");
    put(ptx, ".reg .b32 %%r<6>;");
    put(ptx, ".reg .b64 %%l<10>;");
    put(ptx, ".reg .f32 %%f<6>;");
    put(ptx, ".reg .f64 %%d<2>;");
    put(ptx, ".reg .f64 %%factor;");
    put(ptx, ".reg .%s %%x, %%y, %%z;", element->kept);
    put(ptx, "ld.param.u64 %%l0, [%s_out];", name);
    put(ptx, "ld.param.u64 %%l1, [%s_left];", name);
    put(ptx, "ld.param.u64 %%l2, [%s_right];", name);
    put(ptx, "ld.param.u64 %%l3, [%s_count];", name);
    put(ptx, "ld.param.f64 %%factor, [%s_factor];", name);
    put(ptx, "cvta.to.global.u64 %%l0, %%l0;");
    put(ptx, "cvta.to.global.u64 %%l1, %%l1;");
    put(ptx, "cvta.to.global.u64 %%l2, %%l2;");
    put(ptx, "mov.u32 %%r0, %%ctaid.x;");
    put(ptx, "mov.u32 %%r1, %%ntid.x;");
    put(ptx, "mov.u32 %%r2, %%tid.x;");
    put(ptx, "mov.u32 %%r3, %%nctaid.x;");
    put(ptx, "mul.wide.u32 %%l4, %%r0, %%r1;");
    put(ptx, "cvt.u64.u32 %%l5, %%r2;");
    put(ptx, "add.u64 %%l4, %%l4, %%l5;");
    put(ptx, "mul.wide.u32 %%l5, %%r3, %%r1;");
}

static void put_kernel(struct ptx *ptx, enum hvd_dtype dtype, enum kernel_op op)
{
    char name[KERNEL_NAME];
    const struct element *element = &elements[dtype];
    kernel_name(name, dtype, op);
    put_beginning(ptx, name, element);
    put(ptx, "next:");
    put(ptx, "setp.ge.u64 %%p0, %%l4, %%l3;");
    put(ptx, "@%%p0 bra done;");
    put(ptx, "mul.lo.u64 %%l6, %%l4, %d;", element->nbytes);
    put_load(ptx, element, "%l1", "%x");
    if (op != KERNEL_SCALE)
        put_load(ptx, element, "%l2", "%y");
    put_operation(ptx, element, op);
    put_store(ptx, element);
    put(ptx, "add.u64 %%l4, %%l4, %%l5;");
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
        for (int op = 0; op < KERNEL_OPS; op++)
            if (kernel_exists((enum hvd_dtype)dtype, (enum kernel_op)op))
                put_kernel(&ptx, (enum hvd_dtype)dtype, (enum kernel_op)op);
    if (!ptx.failed)
        return ptx.text;
    free(ptx.text);
    return NULL;
}
