/* SPDX-License-Identifier: Apache-2.0 */
/* The input of the ranks, and the expected result.
 *
 * Values repeat after DATA_PERIOD elements, a prime, so that a table of DATA_PERIOD values
 * suffices, and a chunk that lands in the wrong place is still detected. The values are small whole
 * numbers, chosen by operation so that the result is exact in every type, whatever the order in
 * which ranks are combined; averages alone are rounded. In each element one rank, another for each,
 * has a number without which the result is wrong. */
#ifndef SRC_TOOLS_BANDWIDTH_DATA_H
#define SRC_TOOLS_BANDWIDTH_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hvd.h"

enum { DATA_PERIOD = 1021 };

struct data {
    enum hvd_dtype dtype;
    bool reduced;   /* else moved unchanged */
    enum hvd_op op; /* if it is reduced */
    int ranks;
    uint64_t seed;
};

/* Elements that repeat. */
struct data_table {
    unsigned char bytes[DATA_PERIOD * 8];
};

/* Can elements of this type be reduced like this? */
bool data_can_reduce(enum hvd_dtype dtype, enum hvd_op op);

/* The input of rank `from`; for rank `to`, if each rank gets something else, or 0. */
void data_input(const struct data *data, int from, int to, struct data_table *table);

/* The reduction of all ranks' inputs. */
void data_reduced(const struct data *data, struct data_table *table);

/* Writes elements `first` to `first + count` of the table's endless row. */
void data_write(const struct data *data, const struct data_table *table, void *memory, size_t first,
                size_t count);

/* The number of elements of `memory` that differ from data_write()'s. */
size_t data_count_wrong(const struct data *data, const struct data_table *table, const void *memory,
                        size_t first, size_t count);

#endif
