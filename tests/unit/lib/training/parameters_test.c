/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of parameters and scalars: their order, what is wrong with them, and their lines. */
#include "lib/training/parameters.h"

#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEN "0123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN

static float data[12];

#define DIMS(...)                                                                                  \
    .ndims = sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), .dims = (int64_t[])             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define FLOATS(...) .data = data, .dtype = HVD_FLOAT32, DIMS(__VA_ARGS__)

START_TEST(names_are_put_in_the_order_of_their_bytes)
{
    const struct hvd_parameter parameters[] = {
        { .name = "b", FLOATS(2) },   { .name = "\xc3\xa9", FLOATS(2) },
        { .name = "a.2", FLOATS(2) }, { .name = "a.10", FLOATS(2) },
        { .name = "B", FLOATS(2) },
    };
    static const int expected[] = { 4, 3, 2, 0, 1 };
    struct named *order;
    struct err err;
    ck_assert_int_eq(parameters_sort(parameters, 5, &order, &err), HVD_OK);
    for (int i = 0; i < 5; i++) {
        ck_assert_int_eq(order[i].place, expected[i]);
        ck_assert_ptr_eq(order[i].name, parameters[expected[i]].name);
    }
    free(order);
}
END_TEST

START_TEST(lists_may_be_empty)
{
    struct named *order;
    struct err err;
    ck_assert_int_eq(parameters_sort(NULL, 0, &order, &err), HVD_OK);
    ck_assert_ptr_nonnull(order);
    free(order);
    ck_assert_int_eq(scalars_sort(NULL, 0, &order, &err), HVD_OK);
    free(order);
}
END_TEST

static const struct {
    struct hvd_parameter parameter;
    size_t nbytes;
} good_ones[] = {
    { { .name = "w", FLOATS(3, 4) }, 48 },
    { { .name = "scalar", .data = data, .dtype = HVD_FLOAT64 }, 8 },
    { { .name = "empty", .dtype = HVD_INT8, DIMS(0) }, 0 },
    { { .name = "empty", .dtype = HVD_INT8, DIMS(INT64_MAX, INT64_MAX, 0) }, 0 },
    { { .name = HUNDRED HUNDRED, FLOATS(1) }, 4 },
    { { .name = "8", FLOATS(1, 1, 1, 1, 1, 1, 1, 2) }, 8 },
};

START_TEST(sizes_are_those_of_shape_and_type)
{
    struct named *order;
    struct err err;
    ck_assert_int_eq(parameters_sort(&good_ones[_i].parameter, 1, &order, &err), HVD_OK);
    ck_assert_uint_eq(parameter_bytes(&good_ones[_i].parameter), good_ones[_i].nbytes);
    free(order);
}
END_TEST

static const struct {
    struct hvd_parameter parameter; /* behind a good one, "w" */
    const char *text;
} bad_ones[] = {
    { { FLOATS(1) }, "parameter 1: the name is NULL" },
    { { .name = "", FLOATS(1) }, "parameter 1: the name is empty" },
    { { .name = HUNDRED HUNDRED "x", FLOATS(1) },
      "parameter 1: the name is longer than 200 bytes" },
    { { .name = "a\xff", FLOATS(1) }, "parameter 1: the name is not UTF-8 (byte 1 is 0xff)" },
    { { .name = "w", FLOATS(1) }, "parameter 'w' is given twice" },
    { { .name = "b", .data = data, .dtype = (enum hvd_dtype)11 },
      "parameter 'b': dtype 11 is not an element type" },
    { { .name = "b", .data = data, .ndims = 9 },
      "parameter 'b': ndims is 9, a tensor has 0 to 8 dimensions" },
    { { .name = "b", .data = data, .ndims = -1 },
      "parameter 'b': ndims is -1, a tensor has 0 to 8 dimensions" },
    { { .name = "b", .data = data, .ndims = 2 }, "parameter 'b': dims is NULL but ndims is 2" },
    { { .name = "b", FLOATS(2, -3) }, "parameter 'b': dims[1] is -3, a dimension is 0 or more" },
    { { .name = "b", FLOATS(INT64_MAX, 2) }, "parameter 'b': it is larger than memory can hold" },
    { { .name = "b", FLOATS(0, INT64_MAX, 2) },
      "parameter 'b': it is larger than memory can hold" },
    { { .name = "b", .dtype = HVD_FLOAT32, DIMS(2) }, "parameter 'b': data is NULL" },
    { { .name = "b" }, "parameter 'b': data is NULL" },
    { { .name = "b", FLOATS(1), .device = 7 }, "parameter 'b': there is no device 7" },
};

START_TEST(a_bad_parameter_is_named_with_what_is_wrong)
{
    const struct hvd_parameter parameters[] = { { .name = "w", FLOATS(12) },
                                                bad_ones[_i].parameter };
    struct named *order;
    struct err err;
    ck_assert_int_eq(parameters_sort(parameters, 2, &order, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, bad_ones[_i].text);
    ck_assert_ptr_null(order);
}
END_TEST

static const struct {
    struct hvd_scalar scalar;
    const char *text;
} bad_scalars[] = {
    { { .value = data }, "scalar 1: the name is NULL" },
    { { .name = "step", .value = data }, "scalar 'step' is given twice" },
    { { .name = "rate" }, "scalar 'rate': value is NULL" },
    { { .name = "rate", .value = data, .dtype = (enum hvd_dtype) - 1 },
      "scalar 'rate': dtype -1 is not an element type" },
};

START_TEST(a_bad_scalar_is_named_with_what_is_wrong)
{
    const struct hvd_scalar scalars[] = { { .name = "step", .value = data },
                                          bad_scalars[_i].scalar };
    struct named *order;
    struct err err;
    ck_assert_int_eq(scalars_sort(scalars, 2, &order, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, bad_scalars[_i].text);
}
END_TEST

START_TEST(lists_that_cannot_be_are_refused)
{
    struct named *order;
    struct err err;
    ck_assert_int_eq(parameters_sort(NULL, 2, &order, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "the list of 2 parameters is NULL");
    ck_assert_int_eq(scalars_sort(NULL, -1, &order, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "a list of -1 scalars");
}
END_TEST

static const struct {
    struct hvd_parameter parameter;
    const char *line;
} lines[] = {
    { { .name = "conv1.weight", FLOATS(3, 3) }, "conv1.weight float32 [3, 3]\n" },
    { { .name = "n", .dtype = HVD_INT64 }, "n int64 []\n" },
    { { .name = "a int8 []\nb\\n", FLOATS(0) }, "a int8 []\\nb\\\\n float32 [0]\n" },
};

START_TEST(a_parameter_has_a_line)
{
    struct wire_writer text = { 0 };
    parameter_put_line(&text, &lines[_i].parameter);
    wire_put_u8(&text, '\0');
    ck_assert(!text.failed);
    ck_assert_str_eq((const char *)text.data, lines[_i].line);
    wire_writer_fini(&text);
}
END_TEST

START_TEST(a_scalar_has_a_line)
{
    struct wire_writer text = { 0 };
    scalar_put_line(&text, &(struct hvd_scalar){ .name = "step", .dtype = HVD_INT64 });
    wire_put_u8(&text, '\0');
    ck_assert_str_eq((const char *)text.data, "step int64\n");
    wire_writer_fini(&text);
}
END_TEST

#define ROWS(table) (int)(sizeof(table) / sizeof *(table))

int main(void)
{
    Suite *suite = suite_create("parameters");
    TCase *tcase = tcase_create("parameters");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, names_are_put_in_the_order_of_their_bytes);
    tcase_add_test(tcase, lists_may_be_empty);
    tcase_add_loop_test(tcase, sizes_are_those_of_shape_and_type, 0, ROWS(good_ones));
    tcase_add_loop_test(tcase, a_bad_parameter_is_named_with_what_is_wrong, 0, ROWS(bad_ones));
    tcase_add_loop_test(tcase, a_bad_scalar_is_named_with_what_is_wrong, 0, ROWS(bad_scalars));
    tcase_add_test(tcase, lists_that_cannot_be_are_refused);
    tcase_add_loop_test(tcase, a_parameter_has_a_line, 0, ROWS(lines));
    tcase_add_test(tcase, a_scalar_has_a_line);
    return unit_run(suite);
}
