/* SPDX-License-Identifier: Apache-2.0 */
/* Adasum's inner loops, on every path that this machine has. */
#include "lib/collective/adasum_math.h"
#include "tests/support/elements.h"
#include "tests/support/unit.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

static const enum hvd_dtype dtypes[] = { HVD_FLOAT16, HVD_BFLOAT16, HVD_FLOAT32, HVD_FLOAT64 };
static const size_t counts[] = { 0, 1, 2, 3, 7, 8, 9, 16, 17, 289, 511, 512, 513, 1000 };

enum { DTYPES = 4, COUNTS = sizeof counts / sizeof *counts, COUNT_MAX = 1000, OFFSET_MAX = 3 };

/* Ordinary numbers of both signs, some of them tiny. */
static void fill(unsigned char *data, enum hvd_dtype dtype, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        double value = random_number(&seed);
        element_put(dtype, data, i, random_less_than(&seed, 16) == 0 ? value * 1e-6 : value);
    }
}

START_TEST(only_floating_point_types_have_an_adasum)
{
    for (int dtype = -1; dtype <= 11; dtype++) {
        bool floating = (dtype >= 6 && dtype <= 8) || dtype == 10;
        ck_assert((adasum_math((enum hvd_dtype)dtype) != NULL) == floating);
    }
}
END_TEST

START_TEST(dot_products_are_those_of_plain_loops)
{
    enum hvd_dtype dtype = dtypes[_i];
    unsigned char a[COUNT_MAX * 8], b[COUNT_MAX * 8];
    fill(a, dtype, COUNT_MAX, 1);
    fill(b, dtype, COUNT_MAX, 2);
    for (size_t c = 0; c < COUNTS; c++) {
        struct adasum_sums plain = { 0, 0, 0 };
        for (size_t i = 0; i < counts[c]; i++) {
            double x = element_get(dtype, a, i), y = element_get(dtype, b, i);
            plain = (struct adasum_sums){ plain.dot + x * y, plain.a + x * x, plain.b + y * y };
        }
        struct adasum_sums sums = adasum_math(dtype)->dot(a, b, counts[c]);
        double tolerance = (double)(counts[c] + 1) * COUNT_MAX * DBL_EPSILON; /* another order */
        ck_assert_double_eq_tol(sums.dot, plain.dot, tolerance);
        ck_assert_double_eq_tol(sums.a, plain.a, tolerance);
        ck_assert_double_eq_tol(sums.b, plain.b, tolerance);
    }
}
END_TEST

/* In the precision that is documented. */
static double combined(enum hvd_dtype dtype, double a, double b, struct adasum_factors factors)
{
    if (hvd_dtype_size(dtype) > 2)
        return a * factors.a + b * factors.b;
    volatile float x = (float)a * (float)factors.a, y = (float)b * (float)factors.b;
    return (double)(x + y);
}

START_TEST(combinations_are_rounded_once_on_every_path)
{
    enum hvd_dtype dtype = dtypes[_i];
    const struct adasum_factors factors = { 0.7123456789, -1.1987654321 };
    size_t size = hvd_dtype_size(dtype);
    unsigned char a[COUNT_MAX * 8], b[COUNT_MAX * 8], expected[COUNT_MAX * 8], out[COUNT_MAX * 8];
    fill(a, dtype, COUNT_MAX, 3);
    fill(b, dtype, COUNT_MAX, 4);
    for (size_t i = 0; i < COUNT_MAX; i++) {
        double x = element_get(dtype, a, i), y = element_get(dtype, b, i);
        element_put(dtype, expected, i, combined(dtype, x, y, factors));
    }
    const struct adasum_math *math;
    for (size_t p = 0; (math = adasum_math_at(dtype, p)); p++)
        for (size_t c = 0; c < COUNTS; c++) {
            math->combine(out, a, b, counts[c], factors);
            ck_assert_mem_eq(out, expected, counts[c] * size);
        }
}
END_TEST

START_TEST(paths_addresses_and_aliases_do_not_change_a_bit)
{
    enum hvd_dtype dtype = dtypes[_i];
    size_t nbytes = COUNT_MAX * hvd_dtype_size(dtype);
    unsigned char a[COUNT_MAX * 8 + OFFSET_MAX], b[COUNT_MAX * 8 + OFFSET_MAX];
    unsigned char expected[COUNT_MAX * 8];
    const struct adasum_math *best = adasum_math_at(dtype, 0), *math;
    for (size_t p = 0; (math = adasum_math_at(dtype, p)); p++)
        for (size_t offset = 0; offset <= OFFSET_MAX; offset++)
            for (int into = 0; into < 2; into++) {
                fill(a, dtype, COUNT_MAX, 5);
                fill(b, dtype, COUNT_MAX, 6);
                struct adasum_sums sums = best->dot(a, b, COUNT_MAX), same;
                best->combine(expected, a, b, COUNT_MAX, adasum_factors(&sums));
                memmove(a + offset, a, nbytes);
                memmove(b + offset, b, nbytes);
                same = math->dot(a + offset, b + offset, COUNT_MAX);
                ck_assert_mem_eq(&sums, &same, sizeof sums);
                unsigned char *out = into ? b + offset : a + offset;
                math->combine(out, a + offset, b + offset, COUNT_MAX, adasum_factors(&same));
                ck_assert_mem_eq(out, expected, nbytes);
            }
}
END_TEST

START_TEST(factors_follow_their_definition)
{
    static const struct {
        struct adasum_sums sums;
        struct adasum_factors factors;
    } rows[] = {
        { { 2, 2, 2 }, { 0.5, 0.5 } },
        { { 0, 3, 5 }, { 1, 1 } },
        { { 0, 0, 5 }, { 1, 1 } },
        { { 0, 0, 0 }, { 1, 1 } },
        { { 2, 4, 1 }, { 0.75, 0 } },
        { { -2, 2, 4 }, { 1.5, 1.25 } },
        { { 1, DBL_MIN / 2, 1 }, { 1, 0.5 } },
        { { 1, INFINITY, 1 }, { 1, 0.5 } },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct adasum_factors factors = adasum_factors(&rows[i].sums);
        ck_assert(factors.a == rows[i].factors.a && factors.b == rows[i].factors.b);
    }
}
END_TEST

START_TEST(nan_goes_on)
{
    struct adasum_factors factors = adasum_factors(&(struct adasum_sums){ NAN, NAN, 1 });
    ck_assert(isnan(factors.a) && isnan(factors.b));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("adasum_math");
    TCase *tcase = tcase_create("adasum_math");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, only_floating_point_types_have_an_adasum);
    tcase_add_loop_test(tcase, dot_products_are_those_of_plain_loops, 0, DTYPES);
    tcase_add_loop_test(tcase, combinations_are_rounded_once_on_every_path, 0, DTYPES);
    tcase_add_loop_test(tcase, paths_addresses_and_aliases_do_not_change_a_bit, 0, DTYPES);
    tcase_add_test(tcase, factors_follow_their_definition);
    tcase_add_test(tcase, nan_goes_on);
    return unit_run(suite);
}
