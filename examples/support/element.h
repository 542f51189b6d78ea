/* SPDX-License-Identifier: Apache-2.0 */
/* One element of any of the library's types, as a number. */
#ifndef EXAMPLES_SUPPORT_ELEMENT_H
#define EXAMPLES_SUPPORT_ELEMENT_H

#include <stdbool.h>

#include "hvd.h"

enum { ELEMENT_TYPES = HVD_BFLOAT16 + 1 };

/* "float32". */
const char *element_name(enum hvd_dtype dtype);

bool element_is_floating(enum hvd_dtype dtype);

/* Between 1 and the next number of a floating-point type; 0 for the others. */
double element_epsilon(enum hvd_dtype dtype);

/* `at` needs no alignment. Whole numbers wrap around in integers, as the library's sums do; bool is
 * 0 or 1. Halves: what they cannot hold to the digit is rounded toward zero. */
void element_store(enum hvd_dtype dtype, void *at, double value);
double element_load(enum hvd_dtype dtype, const void *at);

#endif
