/* SPDX-License-Identifier: Apache-2.0 */
/* Every type with every operation, for many counts, in place and not; broadcasts from every root;
 * factors.
 *
 * Small whole numbers give results that are the same to the bit in every order and type, which is
 * more than the rule that Horovod's tests apply (exact for integers and up to 3 ranks, else 1e-4).
 * Fractions give sums that differ by the order: each of the size - 1 operations rounds once, and
 * what is wrong by then is carried on. Elements repeat after PERIOD, so that the reference is
 * short. */
#include "tests/support/collectives.h"
#include "tests/support/elements.h"
#include "tests/support/reduce_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 289 };

/* Element i of `rank`. */
typedef double sample_fn(int rank, size_t i, enum hvd_dtype dtype, enum hvd_op op);

struct pattern {
    _Alignas(8) unsigned char bytes[PERIOD * 8];
};

static double whole_number(int rank, size_t i, enum hvd_dtype dtype, enum hvd_op op)
{
    size_t mixed = i * 7 + (size_t)rank * 13;
    if (dtype == HVD_BOOL)
        return (i + (size_t)rank) % 5 < 2;
    if (op == HVD_PRODUCT)
        return 1 + (double)((i + (size_t)rank) % 2);
    return (double)(mixed % 25) - (dtype == HVD_UINT8 || dtype == HVD_UINT16 ? 0 : 12);
}

/* Of either sign, the same on all ranks: so neither sums nor Adasum nearly cancel. */
static double fraction(int rank, size_t i, enum hvd_dtype dtype, enum hvd_op op)
{
    uint64_t state = (i + 1) * 0x9e3779b97f4a7c15 + (uint64_t)rank * 0xd1b54a32d192ed03;
    (void)dtype;
    (void)op;
    next_random(&state);
    double magnitude = 1.25 + random_number(&state) / 2;
    return i % 3 == 1 ? -magnitude : magnitude;
}

static void fill(void *data, size_t count, sample_fn *sample, int rank, enum hvd_dtype dtype,
                 enum hvd_op op)
{
    unsigned char *bytes = data;
    size_t period = PERIOD * hvd_dtype_size(dtype), nbytes = count * hvd_dtype_size(dtype);
    for (size_t i = 0; i < count && i < PERIOD; i++)
        element_put(dtype, bytes, i, sample(rank, i, dtype, op));
    for (size_t at = period; at < nbytes; at += period)
        memcpy(bytes + at, bytes, nbytes - at < period ? nbytes - at : period);
}

/* Every period of `data` must be as `expected`. Returns the first element that differs, or count.
 * Whole periods are compared first, since sanitizers make each call of memcmp slow. */
static size_t differs_at(const unsigned char *data, size_t count, enum hvd_dtype dtype,
                         const struct pattern *expected)
{
    size_t size = hvd_dtype_size(dtype), i = 0;
    while (count - i >= PERIOD && memcmp(data + i * size, expected->bytes, PERIOD * size) == 0)
        i += PERIOD;
    while (i < count && memcmp(data + i * size, expected->bytes + i % PERIOD * size, size) == 0)
        i++;
    return i;
}

static void require_pattern(const void *data, size_t count, enum hvd_dtype dtype,
                            const struct pattern *expected, const char *what)
{
    size_t i = differs_at(data, count, dtype, expected);
    if (i < count)
        require(false, "%s of %zu %s: element %zu is %.17g, not %.17g", what, count,
                type_name(dtype), i, element_get(dtype, data, i),
                element_get(dtype, expected->bytes, i % PERIOD));
}

/* Of `size` ranks' patterns, the last divided by their number if it is an average. */
static void expect_reduced(struct pattern *expected, sample_fn *sample, enum hvd_dtype dtype,
                           enum hvd_op op)
{
    struct pattern other;
    fill(expected->bytes, PERIOD, sample, 0, dtype, op);
    for (int rank = 1; rank < world_size; rank++) {
        enum hvd_op step = op == HVD_AVERAGE && rank < world_size - 1 ? HVD_SUM : op;
        fill(other.bytes, PERIOD, sample, rank, dtype, op);
        reference_reduce(dtype, step, world_size, expected->bytes, expected->bytes, other.bytes,
                         PERIOD);
    }
}

static const char *op_text(enum hvd_op op)
{
    static const char *const names[] = { "average", "sum", "adasum", "min", "max", "product" };
    return names[op];
}

/* One name for all counts, so that a shape often changes under a name that has been seen. */
static void *reduce(size_t count, sample_fn *sample, enum hvd_dtype dtype, enum hvd_op op,
                    bool in_place)
{
    size_t nbytes = count * hvd_dtype_size(dtype);
    unsigned char *input = room(nbytes), *output = in_place ? input : room(nbytes);
    struct pattern given;
    char name[64];
    snprintf(name, sizeof name, "matrix.%s.%s", type_name(dtype), op_text(op));
    fill(input, count, sample, my_rank, dtype, op);
    fill(given.bytes, PERIOD, sample, my_rank, dtype, op);
    int64_t line[] = { (int64_t)count }, square[] = { 17, 17 };
    struct hvd_tensor tensor = { .name = name,
                                 .input = input,
                                 .output = output,
                                 .dtype = dtype,
                                 .ndims = count == 289 ? 2 : 1,
                                 .dims = count == 289 ? square : line };
    int64_t handle;
    int rc = hvd_allreduce_async(&tensor, op, NULL, &handle);
    require(rc == HVD_OK, "%s of %zu: %s", name, count, hvd_strstatus(rc));
    finish(handle, NULL, name);
    require(output[nbytes] == 0, "%s of %zu: the byte behind the output was written", name, count);
    require(in_place || differs_at(input, count, dtype, &given) == count,
            "%s of %zu: input was written", name, count);
    if (!in_place)
        free(input);
    return output;
}

static void check_exact(size_t count, enum hvd_dtype dtype, enum hvd_op op, bool in_place)
{
    struct pattern expected;
    unsigned char *output = reduce(count, whole_number, dtype, op, in_place);
    expect_reduced(&expected, whole_number, dtype, op);
    require_pattern(output, count, dtype, &expected, op_text(op));
    free(output);
}

static double combine(enum hvd_op op, double x, double y)
{
    switch (op) {
    case HVD_MIN:
        return fmin(x, y);
    case HVD_MAX:
        return fmax(x, y);
    case HVD_PRODUCT:
        return x * y;
    default:
        return x + y;
    }
}

static double rounded_sample(int rank, size_t i, enum hvd_dtype dtype)
{
    unsigned char element[8];
    element_put(dtype, element, 0, fraction(rank, i, dtype, HVD_SUM));
    return element_get(dtype, element, 0);
}

static double expected_fraction(size_t i, enum hvd_dtype dtype, enum hvd_op op)
{
    double result = rounded_sample(0, i, dtype);
    for (int rank = 1; rank < world_size; rank++)
        result = combine(op, result, rounded_sample(rank, i, dtype));
    return op == HVD_AVERAGE ? result / world_size : result;
}

/* The next element to check, at or after element i. A whole period whose bytes are those of the
 * checked period before it needs no check of its own; nearly all are, since only the order of the
 * ranks differs between parts of a vector. */
static size_t next_to_check(const unsigned char *data, size_t i, size_t count, enum hvd_dtype dtype)
{
    size_t nbytes = PERIOD * hvd_dtype_size(dtype);
    while (i > 0 && i % PERIOD == 0 && count - i >= PERIOD &&
           memcmp(data + i / PERIOD * nbytes, data + (i / PERIOD - 1) * nbytes, nbytes) == 0)
        i += PERIOD;
    return i;
}

/* Products grow, sums have one sign: so errors are relative to the result. */
static void check_close(const void *output, size_t count, enum hvd_dtype dtype, enum hvd_op op,
                        const double *expected)
{
    double relative = op == HVD_MIN || op == HVD_MAX ? 0 : element_rounding(dtype) * 2 * world_size;
    for (size_t i = 0; (i = next_to_check(output, i, count, dtype)) < count; i++) {
        double got = element_get(dtype, output, i), want = expected[i % PERIOD];
        if (!(fabs(got - want) <= relative * fabs(want)))
            require(false, "%s of %zu %s: element %zu is %.17g, not %.17g", op_text(op), count,
                    type_name(dtype), i, got, want);
    }
}

static void check_fractions(size_t count, enum hvd_dtype dtype, enum hvd_op op, bool in_place)
{
    double expected[PERIOD];
    unsigned char *output = reduce(count, fraction, dtype, op, in_place);
    for (size_t i = 0; i < PERIOD; i++)
        expected[i] = expected_fraction(i, dtype, op);
    check_close(output, count, dtype, op, expected);
    free(output);
}

/* a = Adasum of a and b, whose elements occur so many times. */
static void adasum_pair(double *a, const double *b, const double *times)
{
    double dot = 0, square_a = 0, square_b = 0;
    for (size_t i = 0; i < PERIOD; i++) {
        dot += a[i] * b[i] * times[i];
        square_a += a[i] * a[i] * times[i];
        square_b += b[i] * b[i] * times[i];
    }
    double factor_a = square_a > 0 ? 1 - dot / (2 * square_a) : 1;
    double factor_b = square_b > 0 ? 1 - dot / (2 * square_b) : 1;
    for (size_t i = 0; i < PERIOD; i++)
        a[i] = a[i] * factor_a + b[i] * factor_b;
}

/* Of ranks [first, first + n), n a power of two; rank p + r is combined with r first, p being the
 * largest power of two of ranks that there is. */
static void expect_adasum(double *result, const double *times, enum hvd_dtype dtype, int first,
                          int n, int p)
{
    double other[PERIOD];
    if (n > 1) {
        expect_adasum(result, times, dtype, first, n / 2, p);
        expect_adasum(other, times, dtype, first + n / 2, n / 2, p);
        adasum_pair(result, other, times);
        return;
    }
    for (size_t i = 0; i < PERIOD; i++) {
        result[i] = rounded_sample(first, i, dtype);
        other[i] = rounded_sample(first + p, i, dtype);
    }
    if (first + p < world_size)
        adasum_pair(result, other, times);
}

/* All ranks' elements agree in sign, so nothing cancels; each of the combinations rounds. */
static void check_adasum(size_t count, enum hvd_dtype dtype, bool in_place)
{
    double expected[PERIOD], times[PERIOD];
    int p = 1;
    while (p * 2 <= world_size)
        p *= 2;
    for (size_t i = 0; i < PERIOD; i++)
        times[i] = (double)(count / PERIOD + (i < count % PERIOD));
    expect_adasum(expected, times, dtype, 0, p, p);
    unsigned char *output = reduce(count, fraction, dtype, HVD_ADASUM, in_place);
    double largest = 0, tolerance = element_rounding(dtype) * 4 * world_size;
    for (size_t i = 0; i < PERIOD; i++)
        largest = fmax(largest, fabs(expected[i]));
    if (dtype == HVD_FLOAT64) /* the dot products are no better than the elements */
        tolerance *= sqrt((double)count + 1);
    for (size_t i = 0; (i = next_to_check(output, i, count, dtype)) < count; i++) {
        double got = element_get(dtype, output, i), want = expected[i % PERIOD];
        if (!(fabs(got - want) <= tolerance * largest))
            require(false, "Adasum of %zu %s: element %zu is %.17g, not %.17g", count,
                    type_name(dtype), i, got, want);
    }
    free(output);
}

static void check_broadcast(size_t count, enum hvd_dtype dtype, int root)
{
    struct pattern expected;
    unsigned char *data = room(count * hvd_dtype_size(dtype));
    fill(data, count, whole_number, my_rank, dtype, HVD_SUM);
    fill(expected.bytes, PERIOD, whole_number, root, dtype, HVD_SUM);
    int rc = hvd_broadcast("matrix.broadcast", data, count, dtype, root);
    require(rc == HVD_OK, "broadcast of %zu: %s", count, hvd_strstatus(rc));
    require_pattern(data, count, dtype, &expected, "broadcast");
    free(data);
}

static void check_count(size_t count, enum hvd_dtype dtype)
{
    for (int o = 0; o < REFERENCE_OPS; o++)
        for (int in_place = 0; in_place < 2; in_place++) {
            if (dtype == HVD_BOOL && reference_ops[o] == HVD_AVERAGE)
                continue;
            check_exact(count, dtype, reference_ops[o], in_place);
            if (is_floating(dtype))
                check_fractions(count, dtype, reference_ops[o], in_place);
        }
    for (int in_place = 0; in_place < 2 && is_floating(dtype); in_place++)
        check_adasum(count, dtype, in_place);
    for (int root = 0; root < world_size; root++)
        check_broadcast(count, dtype, root);
}

static void check_type(enum hvd_dtype dtype)
{
    static const size_t counts[] = { 0, 1, 2, 3, 17, 289, 1000003 };
    for (size_t c = 0; c < LENGTH(counts); c++)
        check_count(counts[c], dtype);
}

static enum hvd_dtype type_named(const char *name)
{
    for (int d = 0; d < REFERENCE_DTYPES; d++)
        if (strcmp(name, type_name(reference_dtypes[d])) == 0)
            return reference_dtypes[d];
    require(false, "there is no type '%s'", name);
    return HVD_UINT8;
}

void test_matrix(int argc, char **argv)
{
    join_world();
    for (int i = 0; i < argc; i++)
        check_type(type_named(argv[i]));
    for (int d = 0; d < REFERENCE_DTYPES && argc == 0; d++)
        check_type(reference_dtypes[d]);
}

/* Factors that are powers of two, or that cut off: what follows is exact. */
static const struct {
    double prescale, postscale;
} factors[] = { { 2, 0 }, { 0, 0.5 }, { 0.5, 4 }, { -1, 0.25 } };

static double scaled(enum hvd_dtype dtype, double value, double factor)
{
    double product = factor == 0 ? value : value * factor;
    return is_floating(dtype) ? product : trunc(product);
}

static void check_scaled(enum hvd_dtype dtype, enum hvd_op op, double prescale, double postscale)
{
    enum { COUNT = 40 };
    unsigned char data[COUNT * 8];
    int64_t dims[] = { COUNT }, handle;
    struct hvd_options options = { .prescale = prescale, .postscale = postscale };
    struct hvd_tensor tensor = {
        .name = "scaled", .input = data, .output = data, .dtype = dtype, .ndims = 1, .dims = dims
    };
    for (size_t i = 0; i < COUNT; i++)
        element_put(dtype, data, i, (double)i + my_rank);
    int rc = hvd_allreduce_async(&tensor, op, &options, &handle);
    require(rc == HVD_OK, "a scaled allreduce: %s", hvd_strstatus(rc));
    finish(handle, NULL, "a scaled allreduce");
    for (size_t i = 0; i < COUNT; i++) {
        double want = scaled(dtype, (double)i, prescale);
        for (int rank = 1; rank < world_size; rank++)
            want = combine(op, want, scaled(dtype, (double)i + rank, prescale));
        want = scaled(dtype, want, postscale);
        double got = element_get(dtype, data, i);
        require(got == want, "%s of %s scaled by %g and %g: element %zu is %g, not %g", op_text(op),
                type_name(dtype), prescale, postscale, i, got, want);
    }
}

void test_scales(int argc, char **argv)
{
    static const enum hvd_dtype dtypes[] = { HVD_INT8,    HVD_INT16,   HVD_INT32,  HVD_INT64,
                                             HVD_FLOAT16, HVD_FLOAT32, HVD_FLOAT64 };
    static const enum hvd_op ops[] = { HVD_SUM, HVD_MIN, HVD_MAX };
    (void)argc;
    (void)argv;
    join_world();
    for (size_t d = 0; d < LENGTH(dtypes); d++)
        for (size_t o = 0; o < LENGTH(ops); o++)
            for (size_t f = 0; f < LENGTH(factors); f++)
                if (dtypes[d] != HVD_INT8 || world_size < 2) /* sums would wrap around */
                    check_scaled(dtypes[d], ops[o], factors[f].prescale, factors[f].postscale);
}
