/* SPDX-License-Identifier: Apache-2.0 */
/* What allreduce makes of NaN, infinities, subnormal numbers, both zeros and integers that
 * overflow: to the bit what the documented order gives (hvd_allreduce(3)), small and large. Of NaN
 * it only matters that it is one. */
#include "lib/hvd.h"
#include "tests/support/elements.h"
#include "tests/support/ranks.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 3, SMALL = 100, LARGE = 9001 };

/* Where larger tensors begin: with rank 0, or block r of them with rank r + 1. */
static const struct way {
    const char *transport, *algorithm;
    bool around;
} ways[] = {
    { "shm", "direct", false },
    { "tcp", "direct", false },
    { "shm", "ring", true },
    { "unix", "ring", true },
};
enum { WAYS = sizeof ways / sizeof *ways };
static const struct way *way;
static const size_t counts[] = { SMALL, LARGE };

static const double specials[] = { 0.0,     -0.0,     NAN,   INFINITY,     -INFINITY,
                                   1,       -1,       1e-5,  FLT_MIN / 4,  -FLT_MIN / 4,
                                   FLT_MAX, -FLT_MAX, 3e4,   FLT_TRUE_MIN, -6e-8,
                                   1.0 / 3, 1e38,     65504, DBL_TRUE_MIN, DBL_MAX };
enum { SPECIALS = sizeof specials / sizeof *specials };

static bool is_floating(enum hvd_dtype dtype)
{
    return dtype == HVD_FLOAT16 || dtype == HVD_FLOAT32 || dtype == HVD_FLOAT64 ||
           dtype == HVD_BFLOAT16;
}

/* Every pair of specials meets somewhere; integers are any bits. */
static void fill(enum hvd_dtype dtype, void *data, size_t count, int rank)
{
    uint64_t state = (uint64_t)rank + 1;
    for (size_t i = 0; i < count; i++) {
        size_t step = rank == 0 ? i : rank == 1 ? i / SPECIALS : i / 7;
        if (is_floating(dtype))
            element_put(dtype, data, i, specials[(step + (size_t)rank) % SPECIALS]);
    }
    if (!is_floating(dtype))
        for (size_t i = 0; i < count * hvd_dtype_size(dtype); i++)
            ((unsigned char *)data)[i] = (unsigned char)next_random(&state);
}

/* `count` elements from `at` on, combined beginning with rank `first`. */
static void combine(enum hvd_dtype dtype, enum hvd_op op, void *out, void *const *inputs, size_t at,
                    size_t count, int first)
{
    size_t skip = at * hvd_dtype_size(dtype);
    char *result = (char *)out + skip;
    memcpy(result, (char *)inputs[first] + skip, count * hvd_dtype_size(dtype));
    for (int i = 1; i < RANKS; i++) {
        enum hvd_op step = op == HVD_AVERAGE && i < RANKS - 1 ? HVD_SUM : op;
        reference_reduce(dtype, step, RANKS, result, result,
                         (char *)inputs[(first + i) % RANKS] + skip, count);
    }
}

/* Up to 4 KiB in order of rank. */
static void expect(enum hvd_dtype dtype, enum hvd_op op, void *out, size_t count)
{
    void *inputs[RANKS];
    bool around = way->around && count * hvd_dtype_size(dtype) > 4096;
    for (int rank = 0; rank < RANKS; rank++) {
        inputs[rank] = malloc(count * hvd_dtype_size(dtype));
        fill(dtype, inputs[rank], count, rank);
    }
    for (int block = 0; block < RANKS && around; block++) {
        size_t at = 0, share = (size_t)hvd_share((int64_t)count, RANKS, block);
        for (int before = 0; before < block; before++)
            at += (size_t)hvd_share((int64_t)count, RANKS, before);
        combine(dtype, op, out, inputs, at, share, (block + 1) % RANKS);
    }
    if (!around)
        combine(dtype, op, out, inputs, 0, count, 0);
    for (int rank = 0; rank < RANKS; rank++)
        free(inputs[rank]);
}

static bool is_same(enum hvd_dtype dtype, const void *a, const void *b, size_t i)
{
    size_t size = hvd_dtype_size(dtype);
    if (memcmp((const char *)a + i * size, (const char *)b + i * size, size) == 0)
        return true;
    return is_floating(dtype) && isnan(element_get(dtype, a, i)) && isnan(element_get(dtype, b, i));
}

static void check_reduction(enum hvd_dtype dtype, enum hvd_op op, size_t count)
{
    size_t nbytes = count * hvd_dtype_size(dtype);
    void *data = count == LARGE ? hvd_alloc(nbytes) : malloc(nbytes), *expected = malloc(nbytes);
    fill(dtype, data, count, hvd_rank());
    REQUIRE_STATUS(hvd_allreduce("values", data, data, count, dtype, op), HVD_OK);
    expect(dtype, op, expected, count);
    for (size_t i = 0; i < count; i++)
        REQUIRE(is_same(dtype, data, expected, i));
    count == LARGE ? hvd_free(data) : free(data);
    free(expected);
}

static int reduce_specials(int rank)
{
    (void)rank;
    setenv("HVD_TRANSPORT", way->transport, 1);
    setenv("HVD_ALGORITHM", way->algorithm, 1);
    setenv("HOROVOD_FUSION_THRESHOLD", "0", 1);
    init_world();
    for (int d = 0; d < REFERENCE_DTYPES; d++)
        for (int o = 0; o < REFERENCE_OPS; o++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                if (reference_dtypes[d] != HVD_BOOL)
                    check_reduction(reference_dtypes[d], reference_ops[o], counts[c]);
    return leave_world();
}

/* F98 */
START_TEST(odd_values_are_combined_in_the_documented_order)
{
    way = &ways[_i];
    ranks_run(&(struct mini_options){ .size = RANKS }, reduce_specials);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("world_values");
    TCase *tcase = tcase_create("world_values");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_loop_test(tcase, odd_values_are_combined_in_the_documented_order, 0, WAYS);
    return unit_run(suite);
}
