/* SPDX-License-Identifier: Apache-2.0 */
/* Every element type with every operation, the edges of integers, and NaN. */
#include "lib/reduce.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const enum hvd_dtype dtypes[] = { HVD_INT32, HVD_INT64, HVD_FLOAT32, HVD_FLOAT64 };

static void store(void *array, enum hvd_dtype dtype, size_t index, double value)
{
    switch (dtype) {
    case HVD_INT32:
        ((int32_t *)array)[index] = (int32_t)value;
        break;
    case HVD_INT64:
        ((int64_t *)array)[index] = (int64_t)value;
        break;
    case HVD_FLOAT32:
        ((float *)array)[index] = (float)value;
        break;
    case HVD_FLOAT64:
        ((double *)array)[index] = value;
        break;
    }
}

static double load(const void *array, enum hvd_dtype dtype, size_t index)
{
    switch (dtype) {
    case HVD_INT32:
        return ((const int32_t *)array)[index];
    case HVD_INT64:
        return (double)((const int64_t *)array)[index];
    case HVD_FLOAT32:
        return ((const float *)array)[index];
    default:
        return ((const double *)array)[index];
    }
}

static double plain(enum hvd_op op, double a, double b)
{
    switch (op) {
    case HVD_MIN:
        return a < b ? a : b;
    case HVD_MAX:
        return a > b ? a : b;
    case HVD_PRODUCT:
        return a * b;
    default:
        return a + b;
    }
}

static void check_against_plain(enum hvd_dtype dtype, enum hvd_op op, size_t count)
{
    double left[64], right[64], out[64];
    for (size_t i = 0; i < count; i++) {
        store(left, dtype, i, (double)(i * 7 % 11) - 5);
        store(right, dtype, i, (double)(i * 5 % 13) - 6);
    }
    reduce_function(dtype, op)(out, left, right, count);
    for (size_t i = 0; i < count; i++) {
        double expected = plain(op, load(left, dtype, i), load(right, dtype, i));
        ck_assert_double_eq(load(out, dtype, i), expected);
    }
}

START_TEST(what_is_no_type_or_operation_has_no_function)
{
    ck_assert(!reduce_function((enum hvd_dtype)6, HVD_SUM));
    ck_assert(!reduce_function((enum hvd_dtype) - 1, HVD_SUM));
    ck_assert(!reduce_function((enum hvd_dtype)99, HVD_SUM));
    ck_assert(!reduce_function(HVD_INT32, (enum hvd_op)2));
    ck_assert(!reduce_function(HVD_INT32, (enum hvd_op) - 1));
    ck_assert(!reduce_function(HVD_INT32, (enum hvd_op)6));
    ck_assert(!divide_function((enum hvd_dtype)0));
    ck_assert_uint_eq(dtype_size(6), 0);
    ck_assert_uint_eq(hvd_dtype_size(HVD_FLOAT64), 8);
    ck_assert_str_eq(dtype_name(77), "?");
    ck_assert_str_eq(op_name(2), "?");
}
END_TEST

START_TEST(every_type_with_every_operation_is_right)
{
    static const enum hvd_op ops[] = { HVD_AVERAGE, HVD_SUM, HVD_MIN, HVD_MAX, HVD_PRODUCT };
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
            for (size_t count = 0; count <= 64; count++)
                check_against_plain(dtypes[d], ops[o], count);
}
END_TEST

START_TEST(the_result_may_replace_either_operand)
{
    float a[33], b[33], expected[33];
    for (int i = 0; i < 33; i++) {
        a[i] = (float)i;
        b[i] = (float)(i * i);
        expected[i] = a[i] + b[i];
    }
    float copy[33];
    memcpy(copy, b, sizeof b);
    reduce_function(HVD_FLOAT32, HVD_SUM)(copy, a, copy, 33);
    ck_assert_mem_eq(copy, expected, sizeof expected);
    reduce_function(HVD_FLOAT32, HVD_SUM)(a, a, b, 33);
    ck_assert_mem_eq(a, expected, sizeof expected);
}
END_TEST

START_TEST(addresses_need_no_alignment)
{
    unsigned char a[8 * 9 + 1], b[8 * 9 + 3], out[8 * 9 + 5];
    int64_t value = 41, one = 1, sum;
    for (size_t i = 0; i < 9; i++) {
        memcpy(a + 1 + 8 * i, &value, 8);
        memcpy(b + 3 + 8 * i, &one, 8);
    }
    reduce_function(HVD_INT64, HVD_SUM)(out + 5, a + 1, b + 3, 9);
    memcpy(&sum, out + 5 + 8 * 8, 8);
    ck_assert_int_eq(sum, 42);
}
END_TEST

START_TEST(integers_wrap_around)
{
    int32_t small[] = { INT32_MAX, INT32_MIN }, one[] = { 1, -1 }, out[2];
    reduce_function(HVD_INT32, HVD_SUM)(out, small, one, 2);
    ck_assert_int_eq(out[0], INT32_MIN);
    ck_assert_int_eq(out[1], INT32_MAX);
    reduce_function(HVD_INT32, HVD_PRODUCT)(out, small, small, 2);
    ck_assert_int_eq(out[0], 1);
    ck_assert_int_eq(out[1], 0);
    int64_t large[] = { INT64_MAX, INT64_MIN }, two[] = { 2, -1 }, wide[2];
    reduce_function(HVD_INT64, HVD_PRODUCT)(wide, large, two, 2);
    ck_assert(wide[0] == -2);
    ck_assert(wide[1] == INT64_MIN);
}
END_TEST

START_TEST(a_nan_on_either_side_is_the_least_and_the_greatest)
{
    static const enum hvd_op ops[] = { HVD_MIN, HVD_MAX, HVD_SUM, HVD_PRODUCT };
    for (size_t o = 0; o < 4; o++) {
        float f[] = { NAN, 1, NAN }, g[] = { 1, NAN, NAN }, out[3];
        double h[] = { NAN, 1, NAN }, k[] = { 1, NAN, NAN }, wide[3];
        reduce_function(HVD_FLOAT32, ops[o])(out, f, g, 3);
        reduce_function(HVD_FLOAT64, ops[o])(wide, h, k, 3);
        for (int i = 0; i < 3; i++)
            ck_assert(isnan(out[i]) && isnan(wide[i]));
    }
}
END_TEST

START_TEST(infinities_are_ordinary)
{
    float a[] = { INFINITY, -INFINITY }, b[] = { 1, 1 }, out[2];
    reduce_function(HVD_FLOAT32, HVD_MIN)(out, a, b, 2);
    ck_assert(out[0] == 1 && isinf(out[1]) && out[1] < 0);
}
END_TEST

START_TEST(averages_of_integers_are_truncated_toward_zero)
{
    int32_t small[] = { 7, -7, 0, INT32_MIN, 2 };
    int64_t large[] = { 7, -7, INT64_MIN };
    divide_function(HVD_INT32)(small, 5, 3);
    divide_function(HVD_INT64)(large, 3, 2);
    ck_assert_int_eq(small[0], 2);
    ck_assert_int_eq(small[1], -2);
    ck_assert_int_eq(small[2], 0);
    ck_assert_int_eq(small[3], INT32_MIN / 3);
    ck_assert_int_eq(small[4], 0);
    ck_assert(large[0] == 3 && large[1] == -3 && large[2] == INT64_MIN / 2);
}
END_TEST

START_TEST(averages_of_floats_are_rounded_once)
{
    float f[] = { 1, 10 };
    double d[] = { 1, 10 };
    divide_function(HVD_FLOAT32)(f, 2, 3);
    divide_function(HVD_FLOAT64)(d, 2, 3);
    ck_assert(f[0] == 1.0f / 3.0f && f[1] == 10.0f / 3.0f);
    ck_assert(d[0] == 1.0 / 3.0 && d[1] == 10.0 / 3.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tcase = tcase_create("reduce");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, what_is_no_type_or_operation_has_no_function);
    tcase_add_test(tcase, every_type_with_every_operation_is_right);
    tcase_add_test(tcase, the_result_may_replace_either_operand);
    tcase_add_test(tcase, addresses_need_no_alignment);
    tcase_add_test(tcase, integers_wrap_around);
    tcase_add_test(tcase, a_nan_on_either_side_is_the_least_and_the_greatest);
    tcase_add_test(tcase, infinities_are_ordinary);
    tcase_add_test(tcase, averages_of_integers_are_truncated_toward_zero);
    tcase_add_test(tcase, averages_of_floats_are_rounded_once);
    return unit_run(suite);
}
