/* SPDX-License-Identifier: Apache-2.0 */
/* The smaller of two sizes. */
#ifndef LIB_BASE_MIN_H
#define LIB_BASE_MIN_H

#include <stddef.h>

static inline size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
