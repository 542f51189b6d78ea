/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the bytes that operations combine, and combines nothing.
 *
 * Programs are linked with --wrap=reduce_function,--wrap=divide_function, so that lib/collective
 * gets these functions in place of those of lib/reduce. One thread. */
#ifndef BENCH_PREDICTION_COUNTED_REDUCE_H
#define BENCH_PREDICTION_COUNTED_REDUCE_H

#include <stddef.h>

/* Bytes of float32 that were combined since the last call. */
size_t counted_reduce_take(void);

#endif
