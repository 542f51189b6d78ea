/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers to collect, and what must come out: small whole ones, so that sums are exact whatever
 * their order. Rank r's element i is (r + 1) * (i modulo 1000). */
#ifndef BENCH_SUPPORT_VERIFY_H
#define BENCH_SUPPORT_VERIFY_H

#include "bench/support/peer.h"

void verify_fill(int rank, float *input, size_t count);

/* The first element of `output` that is wrong, and what it should have been; or the number of those
 * that there must be. */
size_t verify_find_wrong(enum peer_operation operation, int rank, int size, const float *output,
                         size_t count, float *expected);

/* How many elements of `output` a rank gets. */
size_t verify_results(enum peer_operation operation, int size, size_t count);

#endif
