/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIB_BASE_EDIT_DISTANCE_H
#define LIB_BASE_EDIT_DISTANCE_H

#include <stddef.h>

/* The number of bytes to insert, remove or change to turn `a` into `b`. Of `b` only the first 63
 * bytes count. */
int edit_distance(const char *a, size_t length, const char *b);

#endif
