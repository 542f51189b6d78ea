/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller of two sizes. */
#ifndef LIB_BASE_LEAST_H
#define LIB_BASE_LEAST_H

#include <stddef.h>

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
