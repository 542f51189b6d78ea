/* SPDX-License-Identifier: Apache-2.0 */
/* Values for measurements, and their check; see bandwidth_data.h. Nothing here fails.
 *
 *   op            rank that an element is about      other ranks            result
 *   sum, average  1 to 15, and the others' number    -1, 0, 1 in turn       their sum
 *   min, max      likewise                           likewise               one of them
 *   product       1 to 15                            -1 or 1                plus or minus 1 to 15
 *   adasum        1 to 15                            0: orthogonal          their sum
 *   bool          true or false                      false for or, true for and
 *
 * In unsigned types a negative number is what it wraps around to. */
#include "src/tools/bandwidth_data.h"

#include <math.h>
#include <string.h>

#include "examples/support/element.h"

/* One of 2^64 numbers for each element and purpose (the finaliser of splitmix64). */
static uint64_t mix(uint64_t seed, uint64_t element, uint64_t purpose)
{
    uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + element * UINT64_C(0xd1342543de82ef95) +
                 (purpose + 1) * UINT64_C(0x2545f4914f6cdd1d);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

enum purpose { OWNER, WEIGHT, TURN, MOVED };

static bool owns(const struct data *data, uint64_t element, int rank)
{
    return mix(data->seed, element, OWNER) % (uint64_t)data->ranks == (uint64_t)rank;
}

static double weight(const struct data *data, uint64_t element)
{
    return 1 + (double)(mix(data->seed, element, WEIGHT) % 15);
}

/* -1, 0 or 1: the sum over any number of neighbouring ranks is no greater. */
static double bandwidth_data_turn(const struct data *data, uint64_t element, int rank)
{
    return (double)((mix(data->seed, element, TURN) + (uint64_t)rank) % 3) - 1;
}

static double add_input(const struct data *data, uint64_t element, int rank)
{
    double more = owns(data, element, rank) ? weight(data, element) : 0;
    return bandwidth_data_turn(data, element, rank) + more;
}

static double multiply_input(const struct data *data, uint64_t element, int rank)
{
    if (owns(data, element, rank))
        return weight(data, element);
    return bandwidth_data_turn(data, element, rank) < 0 ? -1 : 1;
}

static double orthogonal_input(const struct data *data, uint64_t element, int rank)
{
    return owns(data, element, rank) ? weight(data, element) : 0;
}

static double or_input(const struct data *data, uint64_t element, int rank)
{
    return owns(data, element, rank) && weight(data, element) > 7;
}

static double and_input(const struct data *data, uint64_t element, int rank)
{
    return !or_input(data, element, rank);
}

static double bandwidth_data_add(double a, double b)
{
    return a + b;
}

static double multiply(double a, double b)
{
    return a * b;
}

struct reduction {
    double (*input)(const struct data *data, uint64_t element, int rank);
    double (*combine)(double a, double b);
};

static const struct reduction reductions[] = {
    [HVD_AVERAGE] = { add_input, bandwidth_data_add },
    [HVD_SUM] = { add_input, bandwidth_data_add },
    [HVD_ADASUM] = { orthogonal_input, bandwidth_data_add },
    [HVD_MIN] = { add_input, fmin },
    [HVD_MAX] = { add_input, fmax },
    [HVD_PRODUCT] = { multiply_input, multiply },
};

static const struct reduction bool_reductions[] = {
    [HVD_SUM] = { or_input, fmax },
    [HVD_MIN] = { and_input, fmin },
    [HVD_MAX] = { or_input, fmax },
    [HVD_PRODUCT] = { and_input, fmin },
};

static const struct reduction *reduction_of(const struct data *data)
{
    return &(data->dtype == HVD_BOOL ? bool_reductions : reductions)[data->op];
}

bool data_can_reduce(enum hvd_dtype dtype, enum hvd_op op)
{
    if (op == HVD_ADASUM)
        return element_is_floating(dtype);
    return dtype != HVD_BOOL || op != HVD_AVERAGE;
}

/* The value in the type: a negative one may wrap around. */
static double in_type(enum hvd_dtype dtype, double value)
{
    unsigned char element[8];
    element_store(dtype, element, value);
    return element_load(dtype, element);
}

void data_input(const struct data *data, int from, int to, struct data_table *table)
{
    size_t size = hvd_dtype_size(data->dtype);
    uint64_t way = MOVED + (uint64_t)from * (uint64_t)data->ranks + (uint64_t)to;
    for (size_t i = 0; i < DATA_PERIOD; i++) {
        double value = data->reduced ? reduction_of(data)->input(data, i, from)
                                     : (double)(mix(data->seed, i, way) % 128);
        if (data->dtype == HVD_BOOL && !data->reduced)
            value = value < 64;
        element_store(data->dtype, table->bytes + i * size, value);
    }
}

static double reduce(const struct data *data, uint64_t element)
{
    const struct reduction *reduction = reduction_of(data);
    double value = in_type(data->dtype, reduction->input(data, element, 0));
    for (int rank = 1; rank < data->ranks; rank++) {
        double next = in_type(data->dtype, reduction->input(data, element, rank));
        value = in_type(data->dtype, reduction->combine(value, next));
    }
    return data->op == HVD_AVERAGE ? value / data->ranks : value;
}

void data_reduced(const struct data *data, struct data_table *table)
{
    size_t size = hvd_dtype_size(data->dtype);
    for (size_t i = 0; i < DATA_PERIOD; i++)
        element_store(data->dtype, table->bytes + i * size, reduce(data, i));
}

/* The part of `count` elements that lies in one period. */
static size_t piece(size_t first, size_t count)
{
    size_t room = DATA_PERIOD - first % DATA_PERIOD;
    return count < room ? count : room;
}

void data_write(const struct data *data, const struct data_table *table, void *memory, size_t first,
                size_t count)
{
    size_t size = hvd_dtype_size(data->dtype);
    unsigned char *at = memory;
    for (size_t part; count > 0; first += part, count -= part, at += part * size) {
        part = piece(first, count);
        memcpy(at, table->bytes + first % DATA_PERIOD * size, part * size);
    }
}

/* An average may be rounded in more than one way, to a neighbour at most. */
static bool differs(const struct data *data, const unsigned char *expected, const unsigned char *at)
{
    if (memcmp(expected, at, hvd_dtype_size(data->dtype)) == 0)
        return false;
    double want = element_load(data->dtype, expected), got = element_load(data->dtype, at);
    double slack =
        data->reduced && data->op == HVD_AVERAGE ? element_epsilon(data->dtype) * fabs(want) : 0;
    return !(fabs(got - want) <= slack);
}

size_t data_count_wrong(const struct data *data, const struct data_table *table, const void *memory,
                        size_t first, size_t count)
{
    size_t size = hvd_dtype_size(data->dtype), wrong = 0;
    const unsigned char *at = memory;
    for (size_t part; count > 0; first += part, count -= part, at += part * size) {
        const unsigned char *expected = table->bytes + first % DATA_PERIOD * size;
        part = piece(first, count);
        if (memcmp(at, expected, part * size) == 0)
            continue;
        for (size_t i = 0; i < part; i++)
            wrong += differs(data, expected + i * size, at + i * size);
    }
    return wrong;
}
