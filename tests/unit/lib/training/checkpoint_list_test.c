/* SPDX-License-Identifier: Apache-2.0 */
/* What a program has for a checkpoint against what is in a file, without a file: the same in
 * another order, and each way in which it is not the same. */
#include "lib/training/checkpoint_list.h"

#include "tests/support/unit.h"

#include <string.h>

static float weights[9], bias[3];
static int64_t steps;
static double rate;
static const int64_t square[] = { 3, 3 }, three[] = { 3 };

static const struct hvd_parameter tensors[] = {
    { .name = "weight", .data = weights, .dtype = HVD_FLOAT32, .ndims = 2, .dims = square },
    { .name = "bias", .data = bias, .dtype = HVD_FLOAT32, .ndims = 1, .dims = three },
};
static const struct hvd_scalar scalars[] = {
    { .name = "steps", .value = &steps, .dtype = HVD_INT64 },
    { .name = "bias", .value = &rate, .dtype = HVD_FLOAT64 }, /* as a tensor is called */
};
static const struct hvd_checkpoint checkpoint = {
    .tensors = tensors, .ntensors = 2, .scalars = scalars, .nscalars = 2
};

static struct checkpoint_list list;
static struct err err;

static void set_up(void)
{
    ck_assert_int_eq(checkpoint_list_init(&list, &checkpoint, &err), HVD_OK);
}

static void tear_down(void)
{
    checkpoint_list_fini(&list);
}

START_TEST(a_list_has_tensors_then_scalars_in_the_order_of_their_names)
{
    static const char *const names[] = { "bias", "weight", "bias", "steps" };
    static void *const data[] = { bias, weights, &rate, &steps };
    static const uint64_t nbytes[] = { 12, 36, 8, 8 };
    ck_assert_uint_eq(list.count, 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_str_eq(list.entries[i].name, names[i]);
        ck_assert_int_eq(list.entries[i].kind, i < 2 ? CHECKPOINT_TENSOR : CHECKPOINT_SCALAR);
        ck_assert_uint_eq(list.entries[i].nbytes, nbytes[i]);
        ck_assert_ptr_eq(list.memory[i].data, data[i]);
        ck_assert_int_eq(list.memory[i].device, 0);
    }
}
END_TEST

START_TEST(a_list_is_lines_of_text_for_other_ranks)
{
    struct wire_writer lines = { 0 };
    checkpoint_list_put_lines(&lines, &list);
    ck_assert_str_eq((const char *)lines.data,
                     "bias float32 [3]\nweight float32 [3, 3]\nbias float64\nsteps int64\n");
    wire_writer_fini(&lines);
}
END_TEST

START_TEST(nothing_is_a_list_too)
{
    struct checkpoint_list empty;
    ck_assert_int_eq(checkpoint_list_init(&empty, &(struct hvd_checkpoint){ 0 }, &err), HVD_OK);
    ck_assert_uint_eq(empty.count, 0);
    ck_assert_int_eq(checkpoint_list_match(&empty, NULL, 0, NULL, &err), HVD_OK);
    checkpoint_list_fini(&empty);
    checkpoint_list_fini(&empty);
}
END_TEST

START_TEST(a_wrong_list_is_named)
{
    struct checkpoint_list none;
    struct hvd_scalar twice[] = { scalars[0], scalars[0] };
    struct hvd_checkpoint wrong = { .scalars = twice, .nscalars = 2 };
    ck_assert_int_eq(checkpoint_list_init(&none, &wrong, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, "scalar 'steps' is given twice");
    ck_assert_ptr_null(none.entries);
    wrong = (struct hvd_checkpoint){ .ntensors = 1 };
    ck_assert_int_eq(checkpoint_list_init(&none, &wrong, &err), HVD_ERR_INVALID);
}
END_TEST

START_TEST(a_file_may_have_them_in_another_order)
{
    size_t places[4];
    struct checkpoint_entry file[4];
    for (int i = 0; i < 4; i++)
        file[i] = list.entries[3 - i];
    ck_assert_int_eq(checkpoint_list_match(&list, file, 4, places, &err), HVD_OK);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(places[i], 3 - i);
}
END_TEST

/* What the file has: the list, one of which is left out or something else, and one more. */
static const struct {
    int left_out, changed; /* -1 for none */
    struct checkpoint_entry entry;
    int added;
    const char *text;
} differences[] = {
    { 1, -1, { 0 }, 0, "tensor 'weight' is missing, expected float32 [3, 3]" },
    { 3, -1, { 0 }, 0, "scalar 'steps' is missing, expected int64" },
    { -1,
      1,
      { CHECKPOINT_TENSOR, HVD_FLOAT32, 2, { 5, 5 }, "weight", 0, 0 },
      0,
      "tensor 'weight' is float32 [5, 5], expected float32 [3, 3]" },
    { -1,
      1,
      { CHECKPOINT_TENSOR, HVD_FLOAT64, 2, { 3, 3 }, "weight", 0, 0 },
      0,
      "tensor 'weight' is float64 [3, 3], expected float32 [3, 3]" },
    { -1,
      0,
      { CHECKPOINT_TENSOR, HVD_FLOAT32, 0, { 0 }, "bias", 0, 0 },
      0,
      "tensor 'bias' is float32 [], expected float32 [3]" },
    { -1,
      3,
      { CHECKPOINT_SCALAR, HVD_INT32, 0, { 0 }, "steps", 0, 0 },
      0,
      "scalar 'steps' is int32, expected int64" },
    { -1,
      -1,
      { CHECKPOINT_TENSOR, HVD_UINT8, 1, { 2 }, "zero\n", 0, 0 },
      1,
      "tensor 'zero\\x0a' is uint8 [2], expected no such tensor" },
    { -1,
      -1,
      { CHECKPOINT_SCALAR, HVD_BOOL, 0, { 0 }, "a", 0, 0 },
      1,
      "scalar 'a' is bool, expected no such scalar" },
    { -1,
      -1,
      { CHECKPOINT_SCALAR, HVD_INT64, 0, { 0 }, "steps", 0, 0 },
      1,
      "scalar 'steps' is int64, expected no such scalar" }, /* twice */
    { -1,
      1,
      { CHECKPOINT_TENSOR, HVD_FLOAT32, 1, { 3 }, "bias", 0, 0 },
      0,
      "tensor 'bias' is float32 [3], expected no such tensor" }, /* twice, another is missing */
    { -1,
      1,
      { CHECKPOINT_TENSOR, HVD_FLOAT32, 1, { 3 }, "a", 0, 0 },
      0,
      "tensor 'a' is float32 [3], expected no such tensor" }, /* another model */
};

START_TEST(the_first_difference_is_told)
{
    size_t places[4], count = 0;
    struct checkpoint_entry file[5];
    for (int i = 0; i < 4; i++)
        if (i != differences[_i].left_out)
            file[count++] = i == differences[_i].changed ? differences[_i].entry : list.entries[i];
    if (differences[_i].added)
        file[count++] = differences[_i].entry;
    ck_assert_int_eq(checkpoint_list_match(&list, file, count, places, &err), HVD_ERR_INVALID);
    ck_assert_str_eq(err.text, differences[_i].text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("checkpoint_list");
    TCase *cases = tcase_create("checkpoint_list");
    suite_add_tcase(suite, cases);
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, a_list_has_tensors_then_scalars_in_the_order_of_their_names);
    tcase_add_test(cases, a_list_is_lines_of_text_for_other_ranks);
    tcase_add_test(cases, nothing_is_a_list_too);
    tcase_add_test(cases, a_wrong_list_is_named);
    tcase_add_test(cases, a_file_may_have_them_in_another_order);
    tcase_add_loop_test(cases, the_first_difference_is_told, 0,
                        sizeof differences / sizeof *differences);
    return unit_run(suite);
}
