/* SPDX-License-Identifier: Apache-2.0 */
/* Scaling of every element type on every path that this machine has, against a plain reference, to
 * the bit; where integers are cut off, and where they end. */
#include "lib/reduce/reduce_path.h"
#include "tests/support/reduce_fill.h"
#include "tests/support/reduce_reference.h"
#include "tests/support/unit.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 289 };

START_TEST(everything_but_bool_can_be_scaled)
{
    const struct reduce_path *path;
    for (size_t p = 0; (path = reduce_path_at(p)); p++)
        for (int d = 0; d < REFERENCE_DTYPES; d++)
            ck_assert(!path->scale[reference_dtypes[d]] == (reference_dtypes[d] == HVD_BOOL));
    ck_assert(!scale_function(HVD_BOOL));
    ck_assert(!scale_function((enum hvd_dtype)11));
    ck_assert(!scale_function((enum hvd_dtype) - 1));
}
END_TEST

START_TEST(a_forced_path_is_taken)
{
    reduce_path_force(&reduce_portable);
    ck_assert_ptr_eq(scale_function(HVD_INT8), reduce_portable.scale[HVD_INT8]);
    reduce_path_force(NULL);
    ck_assert_ptr_eq(scale_function(HVD_INT8), reduce_path_at(0)->scale[HVD_INT8]);
}
END_TEST

/* The last one is too large for a float. */
static const double factors[] = {
    1,    -1,    0.5,      2,         1.0 / 3,      0.1,    -2.5,  255,
    1e10, -1e19, 1e-5,     0x1p-24,   0x1.000001p0, 5e-324, 1e300, -FLT_MAX * 4.0,
    0,    -0.0,  INFINITY, -INFINITY, NAN,
};
enum { FACTORS = sizeof factors / sizeof *factors };

/* Operands have no byte to spare, which AddressSanitizer watches; the byte before the result and
 * the one behind it stay as they are. */
static void check_call(const struct reduce_path *path, enum hvd_dtype dtype, double factor,
                       size_t count, size_t offset)
{
    static unsigned char expected[COUNT_MAX * 8];
    size_t size = hvd_dtype_size(dtype), nbytes = count * size;
    unsigned char *in = malloc(offset + nbytes + 1), *out = malloc(16 + nbytes + 1 - offset);
    unsigned char *from = in + offset, *to = out + 16 - offset;
    reduce_fill(from, nbytes, size, count * 5 + offset + 0x9e3779b97f4a7c15);
    to[-1] = to[nbytes] = 0xa5;
    reference_scale(dtype, factor, expected, from, count);
    path->scale[dtype](to, from, count, factor);
    path->scale[dtype](from, from, count, factor);
    if (memcmp(to, expected, nbytes) != 0 || memcmp(from, expected, nbytes) != 0 ||
        to[-1] != 0xa5 || to[nbytes] != 0xa5)
        ck_abort_msg("%zu %s times %a on %s (offset %zu) is wrong", count, dtype_name((int)dtype),
                     factor, path->name, offset);
    free(in);
    free(out);
}

START_TEST(every_type_is_scaled_right_on_every_path)
{
    static const size_t counts[] = { 0, 1, 2, 7, 8, 15, 16, 17, 33, 65, COUNT_MAX };
    static const size_t offsets[] = { 0, 1, 6 };
    enum hvd_dtype dtype = reference_dtypes[_i];
    const struct reduce_path *path;
    for (size_t p = 0; (path = reduce_path_at(p)); p++)
        for (size_t f = 0; path->scale[dtype] && f < FACTORS; f++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                for (size_t o = 0; o < sizeof offsets / sizeof *offsets; o++)
                    check_call(path, dtype, factors[f], counts[c], offsets[o]);
}
END_TEST

/* Each row on every path, as one element and within many. */
static void check_integer(enum hvd_dtype dtype, const void *in, double factor, const void *expected)
{
    unsigned char many[64][8] = { { 0 } };
    size_t size = hvd_dtype_size(dtype);
    const struct reduce_path *path;
    for (size_t p = 0; (path = reduce_path_at(p)); p++)
        for (size_t count = 1; count <= 64; count += 63) {
            unsigned char *data = many[0];
            for (size_t i = 0; i < count; i++)
                memcpy(data + i * size, in, size);
            path->scale[dtype](data, data, count, factor);
            for (size_t i = 0; i < count; i++)
                ck_assert_msg(memcmp(data + i * size, expected, size) == 0, "%s by %g on %s",
                              dtype_name((int)dtype), factor, path->name);
        }
}

START_TEST(integers_are_cut_off_toward_zero_and_stay_in_their_range)
{
    static const struct {
        int in;
        double factor;
        int int8, int16, int32, uint8, uint16;
    } rows[] = {
        { 7, 0.5, 3, 3, 3, 3, 3 },
        { 100, 0.999, 99, 99, 99, 99, 99 },
        { 1, -0.75, 0, 0, 0, 0, 0 },
        { 7, -0.5, -3, -3, -3, 0, 0 },
        { 100, 3, 127, 300, 300, 255, 300 },
        { 100, -3, -128, -300, -300, 0, 0 },
        { 100, 1000, 127, 32767, 100000, 255, 65535 },
        { 100, -1000, -128, -32768, -100000, 0, 0 },
        { 127, 1e300, 127, 32767, INT32_MAX, 255, 65535 },
        { 127, -INFINITY, -128, -32768, INT32_MIN, 0, 0 },
        { 0, INFINITY, 0, 0, 0, 0, 0 },
        { 5, NAN, 0, 0, 0, 0, 0 },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int8_t in8 = (int8_t)rows[i].in, int8 = (int8_t)rows[i].int8;
        int16_t in16 = (int16_t)rows[i].in, int16 = (int16_t)rows[i].int16;
        uint8_t uint8 = (uint8_t)rows[i].uint8;
        uint16_t uint16 = (uint16_t)rows[i].uint16;
        check_integer(HVD_INT8, &in8, rows[i].factor, &int8);
        check_integer(HVD_INT16, &in16, rows[i].factor, &int16);
        check_integer(HVD_INT32, &rows[i].in, rows[i].factor, &rows[i].int32);
        check_integer(HVD_UINT8, &in8, rows[i].factor, &uint8);
        check_integer(HVD_UINT16, &in16, rows[i].factor, &uint16);
    }
}
END_TEST

/* 2^63 is a double, INT64_MAX is not. */
START_TEST(the_ends_of_int64_are_reached_and_not_passed)
{
    static const int64_t high = (int64_t)1 << 62, below = INT64_MAX - 1023;
    static const struct {
        int64_t in;
        double factor;
        int64_t out;
    } rows[] = {
        { INT64_MAX, 1, INT64_MAX },
        { INT64_MIN, 1, INT64_MIN },
        { INT64_MIN, -1, INT64_MAX },
        { INT64_MAX, -1, INT64_MIN },
        { (int64_t)1 << 62, 2, INT64_MAX },
        { (int64_t)1 << 62, -2, INT64_MIN },
        { (int64_t)1 << 62, 0x1.fffffffffffffp0, INT64_MAX - 1023 },
        { (int64_t)1 << 62, -0x1.fffffffffffffp0, -INT64_MAX + 1023 },
        { -7, 0.5, -3 },
        { 3, 1e30, INT64_MAX },
        { -3, INFINITY, INT64_MIN },
        { 0, -INFINITY, 0 },
        { 1, NAN, 0 },
        { ((int64_t)1 << 53) + 1, 1, (int64_t)1 << 53 },
    };
    ck_assert((double)below < 2 * (double)high && (double)INT64_MAX == 2 * (double)high);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_integer(HVD_INT64, &rows[i].in, rows[i].factor, &rows[i].out);
}
END_TEST

START_TEST(floats_are_scaled_by_the_factor_as_a_float)
{
    float one = 1, tenth = 0.1f;
    double wide = 1;
    scale_function(HVD_FLOAT32)(&one, &one, 1, 0.1);
    scale_function(HVD_FLOAT64)(&wide, &wide, 1, 0.1);
    ck_assert(one == tenth && wide == 0.1);
    uint16_t half = 0x3c00, brain = 0x3f80;
    scale_function(HVD_FLOAT16)(&half, &half, 1, 65519);
    scale_function(HVD_BFLOAT16)(&brain, &brain, 1, -0.5);
    ck_assert_uint_eq(half, 0x7bff);
    ck_assert_uint_eq(brain, 0xbf00);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("scale");
    TCase *tcase = tcase_create("scale");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 120);
    tcase_add_test(tcase, everything_but_bool_can_be_scaled);
    tcase_add_test(tcase, a_forced_path_is_taken);
    tcase_add_loop_test(tcase, every_type_is_scaled_right_on_every_path, 0, REFERENCE_DTYPES);
    tcase_add_test(tcase, integers_are_cut_off_toward_zero_and_stay_in_their_range);
    tcase_add_test(tcase, the_ends_of_int64_are_reached_and_not_passed);
    tcase_add_test(tcase, floats_are_scaled_by_the_factor_as_a_float);
    return unit_run(suite);
}
