/* SPDX-License-Identifier: Apache-2.0 */
/* Elements that are likely to go wrong, for tests of the inner loops. */
#ifndef TESTS_SUPPORT_REDUCE_FILL_H
#define TESTS_SUPPORT_REDUCE_FILL_H

#include <stddef.h>
#include <stdint.h>

/* Fills `nbytes` with elements of `size` bytes: any bits, and every fourth an edge (zeros,
 * greatest, least, infinite, denormal, NaN). The same for the same seed, which is not 0. */
void reduce_fill(unsigned char *data, size_t nbytes, size_t size, uint64_t seed);

#endif
