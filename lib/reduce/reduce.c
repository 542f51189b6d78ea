/* SPDX-License-Identifier: Apache-2.0 */
/* Names and sizes of element types, and the choice of an instruction set; see reduce.h and
 * reduce_path.h. */
#include "lib/reduce/reduce.h"

#include "lib/reduce/reduce_path.h"

#include <stdatomic.h>
#include <string.h>

const unsigned char dtype_sizes[DTYPES] = {
    [HVD_UINT8] = 1,   [HVD_INT8] = 1,  [HVD_UINT16] = 2,   [HVD_INT16] = 2,
    [HVD_INT32] = 4,   [HVD_INT64] = 8, [HVD_FLOAT16] = 2,  [HVD_FLOAT32] = 4,
    [HVD_FLOAT64] = 8, [HVD_BOOL] = 1,  [HVD_BFLOAT16] = 2,
};

static const char *const dtypes[DTYPES] = {
    [HVD_UINT8] = "uint8",     [HVD_INT8] = "int8",         [HVD_UINT16] = "uint16",
    [HVD_INT16] = "int16",     [HVD_INT32] = "int32",       [HVD_INT64] = "int64",
    [HVD_FLOAT16] = "float16", [HVD_FLOAT32] = "float32",   [HVD_FLOAT64] = "float64",
    [HVD_BOOL] = "bool",       [HVD_BFLOAT16] = "bfloat16",
};

static const char *const ops[REDUCE_OPS] = {
    [HVD_AVERAGE] = "average", [HVD_SUM] = "sum", [HVD_ADASUM] = "adasum",
    [HVD_MIN] = "min",         [HVD_MAX] = "max", [HVD_PRODUCT] = "product",
};

/* The best first. */
static const struct reduce_path *const paths[] = {
#ifdef REDUCE_X86_64
    &reduce_avx512,
    &reduce_avx2,
#endif
#ifdef REDUCE_AARCH64
    &reduce_neon,
#endif
    &reduce_portable,
};

static _Atomic(const struct reduce_path *) chosen; /* NULL until the first question */

const struct reduce_path *reduce_path_at(size_t index)
{
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (paths[i]->supported() && index-- == 0)
            return paths[i];
    return NULL;
}

void reduce_path_force(const struct reduce_path *path)
{
    atomic_store(&chosen, path);
}

/* Threads that choose at the same time choose the same. */
static const struct reduce_path *current_path(void)
{
    const struct reduce_path *path = atomic_load(&chosen);
    if (!path)
        atomic_store(&chosen, path = reduce_path_at(0));
    return path;
}

static bool known_dtype(int dtype)
{
    return dtype >= 0 && dtype < REDUCE_DTYPES;
}

static bool known_op(int op)
{
    return op >= 0 && op < REDUCE_OPS && ops[op];
}

reduce_fn *reduce_function(enum hvd_dtype dtype, enum hvd_op op)
{
    return known_dtype((int)dtype) && known_op((int)op) ? current_path()->reduce[dtype][op] : NULL;
}

divide_fn *divide_function(enum hvd_dtype dtype)
{
    return known_dtype((int)dtype) ? current_path()->divide[dtype] : NULL;
}

/* The logical or of x and x is the truth value of x. */
void reduce_single(void *out, const void *in, size_t count, enum hvd_dtype dtype)
{
    if (dtype == HVD_BOOL)
        reduce_function(HVD_BOOL, HVD_SUM)(out, in, in, count);
    else if (count > 0 && out != in)
        memcpy(out, in, count * dtype_size((int)dtype));
}

scale_fn *scale_function(enum hvd_dtype dtype)
{
    return known_dtype((int)dtype) ? current_path()->scale[dtype] : NULL;
}

convert_fn *widen_function(enum hvd_dtype dtype)
{
    return known_dtype((int)dtype) ? current_path()->widen[dtype] : NULL;
}

convert_fn *narrow_function(enum hvd_dtype dtype)
{
    return known_dtype((int)dtype) ? current_path()->narrow[dtype] : NULL;
}

const char *dtype_name(int dtype)
{
    return known_dtype(dtype) ? dtypes[dtype] : "?";
}

const char *op_name(int op)
{
    return known_op(op) ? ops[op] : "?";
}
