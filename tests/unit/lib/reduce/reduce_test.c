/* SPDX-License-Identifier: Apache-2.0 */
/* Every element type with every operation on every path that this machine has, against a plain
 * reference, to the bit; the edges of integers, and NaN. */
#include "lib/reduce/reduce_path.h"
#include "tests/support/reduce_fill.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 1000 };

START_TEST(what_is_no_type_or_operation_has_no_function)
{
    ck_assert(!reduce_function((enum hvd_dtype)11, HVD_SUM));
    ck_assert(!reduce_function((enum hvd_dtype) - 1, HVD_SUM));
    ck_assert(!reduce_function((enum hvd_dtype)99, HVD_SUM));
    ck_assert(!reduce_function(HVD_INT32, (enum hvd_op)2));
    ck_assert(!reduce_function(HVD_INT32, (enum hvd_op) - 1));
    ck_assert(!reduce_function(HVD_INT32, (enum hvd_op)6));
    ck_assert(!divide_function((enum hvd_dtype)11));
    ck_assert_uint_eq(dtype_size(11), 0);
    ck_assert_uint_eq(dtype_size(-1), 0);
    ck_assert_str_eq(dtype_name(77), "?");
    ck_assert_str_eq(op_name(6), "?");
    ck_assert_str_eq(op_name(-1), "?");
}
END_TEST

START_TEST(numbers_sizes_and_names_of_types_are_as_documented)
{
    static const struct {
        int number;
        size_t size;
        const char *name;
    } rows[] = {
        { 0, 1, "uint8" },   { 1, 1, "int8" },  { 2, 2, "uint16" },    { 3, 2, "int16" },
        { 4, 4, "int32" },   { 5, 8, "int64" }, { 6, 2, "float16" },   { 7, 4, "float32" },
        { 8, 8, "float64" }, { 9, 1, "bool" },  { 10, 2, "bfloat16" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ck_assert_int_eq((int)reference_dtypes[i], rows[i].number);
        ck_assert_uint_eq(hvd_dtype_size(reference_dtypes[i]), rows[i].size);
        ck_assert_str_eq(dtype_name(rows[i].number), rows[i].name);
    }
}
END_TEST

START_TEST(everything_can_be_done_but_the_average_of_bool)
{
    const struct reduce_path *path;
    for (size_t p = 0; (path = reduce_path_at(p)); p++)
        for (int d = 0; d < REFERENCE_DTYPES; d++)
            for (int o = 0; o < REFERENCE_OPS; o++) {
                enum hvd_dtype dtype = reference_dtypes[d];
                bool nonsense = dtype == HVD_BOOL && reference_ops[o] == HVD_AVERAGE;
                ck_assert(!path->reduce[dtype][reference_ops[o]] == nonsense);
                ck_assert(!path->divide[dtype] == (dtype == HVD_BOOL));
            }
}
END_TEST

/* The best first. */
static const struct reduce_path *const ordered[] = {
#ifdef REDUCE_X86_64
    &reduce_avx512,
    &reduce_avx2,
#endif
#ifdef REDUCE_AARCH64
    &reduce_neon,
#endif
    &reduce_portable,
};

START_TEST(the_paths_are_those_that_this_processor_supports_the_best_first)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++)
        if (ordered[i]->supported())
            ck_assert_ptr_eq(reduce_path_at(count++), ordered[i]);
    ck_assert_ptr_null(reduce_path_at(count));
}
END_TEST

START_TEST(the_best_path_is_taken_unless_one_is_forced)
{
    const struct reduce_path *best = reduce_path_at(0), *path, *last = NULL;
    ck_assert_ptr_eq(reduce_function(HVD_INT8, HVD_SUM), best->reduce[HVD_INT8][HVD_SUM]);
    for (size_t i = 0; (path = reduce_path_at(i)); i++) {
        reduce_path_force(last = path);
        printf("# path %s\n", path->name);
        ck_assert_ptr_eq(reduce_function(HVD_FLOAT16, HVD_MAX), path->reduce[HVD_FLOAT16][HVD_MAX]);
        ck_assert_ptr_eq(divide_function(HVD_INT8), path->divide[HVD_INT8]);
    }
    ck_assert_ptr_eq(last, &reduce_portable);
    reduce_path_force(NULL);
    ck_assert_ptr_eq(reduce_function(HVD_INT8, HVD_SUM), best->reduce[HVD_INT8][HVD_SUM]);
}
END_TEST

static void apply(const struct reduce_path *path, enum hvd_dtype dtype, enum hvd_op op, int divisor,
                  void *out, const void *left, const void *right, size_t count)
{
    if (op == HVD_AVERAGE)
        path->divide[dtype](out, left, right, count, divisor);
    else
        path->reduce[dtype][op](out, left, right, count);
}

enum { INTO_OTHER, INTO_LEFT, INTO_RIGHT };

struct call {
    const struct reduce_path *path;
    enum hvd_dtype dtype;
    enum hvd_op op;
    size_t count;
    const int *offsets; /* of left, right and out from an aligned address */
    int into;
};

static void report(const struct call *call, int divisor)
{
    ck_abort_msg("%s of %zu %s on %s (offsets %d %d %d, into %d, divisor %d) is wrong",
                 op_name((int)call->op), call->count, dtype_name((int)call->dtype),
                 call->path->name, call->offsets[0], call->offsets[1], call->offsets[2], call->into,
                 divisor);
}

/* Operands have no byte to spare, which AddressSanitizer watches; the byte before the result and
 * the one behind it stay as they are. */
static void check_call(const struct call *call)
{
    static unsigned char expected[COUNT_MAX * 8];
    size_t size = hvd_dtype_size(call->dtype), nbytes = call->count * size;
    unsigned char *blocks[3], *data[3];
    for (int i = 0; i < 3; i++) {
        size_t offset = (size_t)call->offsets[i] + (i == 2 ? 16 : 0);
        blocks[i] = malloc(offset + nbytes + (i == 2));
        data[i] = blocks[i] + offset;
        reduce_fill(data[i], nbytes, size, call->count * 6 + (size_t)i * 2 + 0x9e3779b97f4a7c15);
    }
    data[2][-1] = data[2][nbytes] = 0xa5;
    int divisor = (int)(call->count % 7) * 8191 + 1;
    unsigned char *out = data[(call->into + 2) % 3];
    reference_reduce(call->dtype, call->op, divisor, expected, data[0], data[1], call->count);
    apply(call->path, call->dtype, call->op, divisor, out, data[0], data[1], call->count);
    if (memcmp(out, expected, nbytes) != 0 || data[2][-1] != 0xa5 || data[2][nbytes] != 0xa5)
        report(call, divisor);
    for (int i = 0; i < 3; i++)
        free(blocks[i]);
}

static void check_operation(const struct reduce_path *path, enum hvd_dtype dtype, enum hvd_op op)
{
    static const size_t counts[] = { 0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 289, COUNT_MAX };
    static const int offsets[][3] = { { 0, 0, 0 }, { 1, 2, 3 }, { 3, 4, 1 }, { 7, 5, 6 } };
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (size_t f = 0; f < sizeof offsets / sizeof *offsets; f++)
            for (int into = INTO_OTHER; into <= INTO_RIGHT; into++)
                check_call(&(struct call){ path, dtype, op, counts[c], offsets[f], into });
}

START_TEST(every_type_with_every_operation_is_right_on_every_path)
{
    enum hvd_dtype dtype = reference_dtypes[_i];
    const struct reduce_path *path;
    for (size_t p = 0; (path = reduce_path_at(p)); p++)
        for (int o = 0; o < REFERENCE_OPS; o++)
            if (path->reduce[dtype][reference_ops[o]])
                check_operation(path, dtype, reference_ops[o]);
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
    uint8_t bytes[] = { 200, 255 }, more[] = { 100, 255 };
    reduce_function(HVD_UINT8, HVD_SUM)(bytes, bytes, more, 2);
    ck_assert(bytes[0] == 44 && bytes[1] == 254);
}
END_TEST

START_TEST(a_nan_on_either_side_is_the_least_and_the_greatest)
{
    static const enum hvd_op ops[] = { HVD_MIN, HVD_MAX, HVD_SUM, HVD_PRODUCT };
    for (size_t o = 0; o < 4; o++) {
        float f[] = { NAN, 1, NAN }, g[] = { 1, NAN, NAN }, out[3];
        double h[] = { NAN, 1, NAN }, k[] = { 1, NAN, NAN }, wide[3];
        uint16_t m[] = { 0x7e00, 0x3c00, 0x7c01 }, n[] = { 0x3c00, 0xfe00, 0x7e00 }, half[3];
        reduce_function(HVD_FLOAT32, ops[o])(out, f, g, 3);
        reduce_function(HVD_FLOAT64, ops[o])(wide, h, k, 3);
        reduce_function(HVD_FLOAT16, ops[o])(half, m, n, 3);
        for (int i = 0; i < 3; i++)
            ck_assert(isnan(out[i]) && isnan(wide[i]) && (half[i] & 0x7e00) == 0x7e00);
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
    int8_t tiny[] = { 7, -7, 127, -1 }, none[4] = { 0, 0, 1, 0 };
    int32_t small[] = { 7, -7, 0, INT32_MIN, 2 }, zero[5] = { 0 };
    int64_t large[] = { 7, -7, INT64_MIN }, nothing[3] = { 0 };
    divide_function(HVD_INT8)(tiny, tiny, none, 4, 3);
    divide_function(HVD_INT32)(small, small, zero, 5, 3);
    divide_function(HVD_INT64)(large, large, nothing, 3, 2);
    ck_assert(tiny[0] == 2 && tiny[1] == -2 && tiny[2] == -42 && tiny[3] == 0);
    ck_assert_int_eq(small[0], 2);
    ck_assert_int_eq(small[1], -2);
    ck_assert_int_eq(small[2], 0);
    ck_assert_int_eq(small[3], INT32_MIN / 3);
    ck_assert_int_eq(small[4], 0);
    ck_assert(large[0] == 3 && large[1] == -3 && large[2] == INT64_MIN / 2);
}
END_TEST

/* The quotient of floating-point numbers is rounded, and must not reach the next whole number. */
START_TEST(no_integer_average_is_rounded_up_for_any_size_of_a_world)
{
    static int32_t sums[3], zero[3];
    for (int size = 1; size <= 65536; size++) {
        int32_t most = INT32_MAX / size * size;
        sums[0] = most - 1;
        sums[1] = -most + 1;
        sums[2] = most;
        divide_function(HVD_INT32)(sums, sums, zero, 3, size);
        if (sums[0] != (most - 1) / size || sums[1] != -((most - 1) / size) ||
            sums[2] != most / size)
            ck_abort_msg("the average of %d over %d ranks is wrong", most, size);
    }
}
END_TEST

/* Every sum of bytes. */
static void check_byte_averages(const struct reduce_path *path, int size)
{
    uint8_t sums[256], zero[256] = { 0 }, quotients[256];
    for (int i = 0; i < 256; i++)
        sums[i] = (uint8_t)i;
    path->divide[HVD_UINT8](quotients, sums, zero, 256, size);
    for (int i = 0; i < 256; i++)
        if (quotients[i] != i / size)
            ck_abort_msg("%d by %d on %s is wrong", i, size, path->name);
    path->divide[HVD_INT8](quotients, sums, zero, 256, size);
    for (int i = 0; i < 256; i++)
        if ((int8_t)quotients[i] != (int8_t)i / size)
            ck_abort_msg("%d by %d on %s is wrong", (int8_t)i, size, path->name);
}

/* Both ends of int64, and the whole numbers beside which a quotient could be missed. */
static void check_int64_averages(const struct reduce_path *path, int size)
{
    int64_t most = INT64_MAX / size * size;
    int64_t sums[] = { INT64_MIN, INT64_MIN + 1, -most, 1 - most, -size, 1 - size, -1, 0,
                       1,         size - 1,      size,  most - 1, most,  INT64_MAX };
    enum { COUNT = sizeof sums / sizeof *sums };
    int64_t zero[COUNT] = { 0 }, quotients[COUNT];
    path->divide[HVD_INT64](quotients, sums, zero, COUNT, size);
    for (int i = 0; i < COUNT; i++)
        if (quotients[i] != sums[i] / size)
            ck_abort_msg("%lld by %d on %s is wrong", (long long)sums[i], size, path->name);
}

START_TEST(reciprocals_give_the_quotients_of_a_division_for_any_size_of_a_world)
{
    const struct reduce_path *path;
    for (size_t p = 0; (path = reduce_path_at(p)); p++)
        for (int size = 1; size <= 1 << 24; size += size < 1000 ? 1 : size / 3 + 1) {
            check_byte_averages(path, size);
            check_int64_averages(path, size);
        }
    check_int64_averages(&reduce_portable, 1 << 24);
}
END_TEST

START_TEST(averages_of_floats_are_rounded_once)
{
    float f[] = { 0.5f, 5 };
    double d[] = { 0.5, 5 };
    divide_function(HVD_FLOAT32)(f, f, f, 2, 3);
    divide_function(HVD_FLOAT64)(d, d, d, 2, 3);
    ck_assert(f[0] == 1.0f / 3.0f && f[1] == 10.0f / 3.0f);
    ck_assert(d[0] == 1.0 / 3.0 && d[1] == 10.0 / 3.0);
}
END_TEST

START_TEST(of_bool_sum_is_or_and_product_is_and)
{
    uint8_t x[] = { 0, 0, 1, 1, 2, 4 }, y[] = { 0, 1, 0, 1, 4, 0 }, out[6];
    static const uint8_t either[] = { 0, 1, 1, 1, 1, 1 }, both[] = { 0, 0, 0, 1, 1, 0 };
    reduce_function(HVD_BOOL, HVD_SUM)(out, x, y, 6);
    ck_assert_mem_eq(out, either, 6);
    reduce_function(HVD_BOOL, HVD_MAX)(out, x, y, 6);
    ck_assert_mem_eq(out, either, 6);
    reduce_function(HVD_BOOL, HVD_PRODUCT)(out, x, y, 6);
    ck_assert_mem_eq(out, both, 6);
    reduce_function(HVD_BOOL, HVD_MIN)(out, x, y, 6);
    ck_assert_mem_eq(out, both, 6);
}
END_TEST

START_TEST(the_data_of_one_rank_is_copied_and_of_bool_made_0_or_1)
{
    float f[] = { 1.5f, -0.0f, 3 }, copy[3] = { 7, 7, 7 };
    uint8_t x[] = { 0, 1, 2, 255 }, out[4] = { 7, 7, 7, 7 };
    static const uint8_t truth[] = { 0, 1, 1, 1 };
    reduce_single(copy, f, 2, HVD_FLOAT32);
    ck_assert_mem_eq(copy, f, 2 * sizeof *f);
    ck_assert(copy[2] == 7);
    reduce_single(f, f, 3, HVD_FLOAT32);
    ck_assert_mem_eq(f, copy, 2 * sizeof *f);
    reduce_single(out, x, 4, HVD_BOOL);
    ck_assert_mem_eq(out, truth, 4);
    reduce_single(x, x, 4, HVD_BOOL);
    ck_assert_mem_eq(x, truth, 4);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce");
    TCase *tcase = tcase_create("reduce");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, what_is_no_type_or_operation_has_no_function);
    tcase_add_test(tcase, numbers_sizes_and_names_of_types_are_as_documented);
    tcase_add_test(tcase, everything_can_be_done_but_the_average_of_bool);
    tcase_add_test(tcase, the_paths_are_those_that_this_processor_supports_the_best_first);
    tcase_add_test(tcase, the_best_path_is_taken_unless_one_is_forced);
    tcase_add_loop_test(tcase, every_type_with_every_operation_is_right_on_every_path, 0,
                        REFERENCE_DTYPES);
    tcase_add_test(tcase, integers_wrap_around);
    tcase_add_test(tcase, a_nan_on_either_side_is_the_least_and_the_greatest);
    tcase_add_test(tcase, infinities_are_ordinary);
    tcase_add_test(tcase, averages_of_integers_are_truncated_toward_zero);
    tcase_add_test(tcase, no_integer_average_is_rounded_up_for_any_size_of_a_world);
    tcase_add_test(tcase, reciprocals_give_the_quotients_of_a_division_for_any_size_of_a_world);
    tcase_add_test(tcase, averages_of_floats_are_rounded_once);
    tcase_add_test(tcase, of_bool_sum_is_or_and_product_is_and);
    tcase_add_test(tcase, the_data_of_one_rank_is_copied_and_of_bool_made_0_or_1);
    return unit_run(suite);
}
