/* SPDX-License-Identifier: Apache-2.0 */
/* A path is every inner loop, compiled for one instruction set. All paths give the same bits, NaN
 * included, so ranks on different processors get the same results.
 *
 * reduce_portable.c is plain C; on x86-64 the compiler makes SSE2 of it, which every such processor
 * has. reduce_avx2.c and reduce_avx512.c are for x86-64 only, reduce_neon.c is for aarch64.
 * reduce.c chooses, once, the best path that the processor supports. */
#ifndef LIB_REDUCE_REDUCE_PATH_H
#define LIB_REDUCE_REDUCE_PATH_H

#include "lib/reduce/reduce.h"

#include <stdbool.h>

enum { REDUCE_DTYPES = DTYPES, REDUCE_OPS = HVD_PRODUCT + 1 };

struct reduce_path {
    const char *name;
    bool (*supported)(void);                      /* by this processor and its operating system */
    reduce_fn *reduce[REDUCE_DTYPES][REDUCE_OPS]; /* NULL: makes no sense */
    divide_fn *divide[REDUCE_DTYPES];
    scale_fn *scale[REDUCE_DTYPES];
    convert_fn *widen[REDUCE_DTYPES], *narrow[REDUCE_DTYPES];
};

extern const struct reduce_path reduce_portable;
#if defined __x86_64__ && defined __GNUC__
#define REDUCE_X86_64 1
extern const struct reduce_path reduce_avx2, reduce_avx512;
#elif defined __aarch64__ && defined __GNUC__
#define REDUCE_AARCH64 1
extern const struct reduce_path reduce_neon;
#endif

/* The paths that can run here: index 0 is the best, NULL comes after the last, the portable one.
 * For tests and measurements, as is reduce_path_force(). */
const struct reduce_path *reduce_path_at(size_t index);

/* Functions returned from now on come from `path`; NULL: from the best path. */
void reduce_path_force(const struct reduce_path *path);

#endif
