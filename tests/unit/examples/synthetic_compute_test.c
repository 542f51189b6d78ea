/* SPDX-License-Identifier: Apache-2.0 */
/* What stands for computing in synthetic_benchmark: how it is asked for, when gradients are ready,
 * and that it takes its time. Only too short is wrong: how much longer a busy machine takes is no
 * matter of ours. */
#include "tests/support/unit.h"

#include <string.h>
#include <time.h>

#include "examples/synthetic_compute.h"
#include "examples/synthetic_options.h"

static struct model model;

static const struct good_row {
    const char *text;
    enum compute_kind kind;
    double seconds;
} good[] = {
    { "sleep:100", COMPUTE_SLEEP, 0.1 },
    { "sleep:0", COMPUTE_SLEEP, 0 },
    { "burn:2.5", COMPUTE_BURN, 0.0025 },
    { "burn:1e3", COMPUTE_BURN, 1 },
};

START_TEST(a_kind_and_milliseconds_are_read)
{
    struct compute compute;
    struct problem problem = { 0 };
    ck_assert_int_eq(compute_parse(&compute, good[_i].text, &problem), 0);
    ck_assert_int_eq(compute.kind, good[_i].kind);
    ck_assert_double_eq_tol(compute.seconds, good[_i].seconds, 1e-12);
}
END_TEST

static const char *const bad[] = {
    "100",      "sleep",      "sleep:",   "sleep:x",      "sleep:1x",
    "sleep:-1", "burn: 1",    "burn:+1",  "burn:1000001", "burn:inf",
    "burn:nan", "sleep:1e99", "doze:100", " sleep:1",     "Sleep:1"
};

START_TEST(anything_else_is_a_mistake_that_is_quoted)
{
    struct compute compute;
    struct problem problem = { 0 };
    ck_assert_int_eq(compute_parse(&compute, bad[_i], &problem), -1);
    ck_assert_int_eq(problem.exit_status, EXIT_STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(problem.text, "sleep:MS or burn:MS"));
    ck_assert_ptr_nonnull(strstr(problem.text, bad[_i]));
}
END_TEST

START_TEST(gradients_come_from_the_last_to_the_first)
{
    static double ready_at[MODEL_TENSORS_MAX];
    ck_assert(model_make(&model, "inception3"));
    compute_schedule(&model, 0.9, ready_at);
    ck_assert_double_gt(ready_at[model.count - 1], 0.3); /* a third is gone before them */
    for (int i = 1; i < model.count; i++)
        ck_assert_double_lt(ready_at[i], ready_at[i - 1]);
    ck_assert_double_eq_tol(ready_at[0], 0.9, 1e-12);
}
END_TEST

START_TEST(a_layer_takes_the_time_of_its_multiplications)
{
    static double ready_at[MODEL_TENSORS_MAX];
    ck_assert(model_make(&model, "vgg16"));
    compute_schedule(&model, 1.5, ready_at);
    /* The dense layers have nine tenths of the parameters and a hundredth of the work. */
    const struct model_tensor *first_dense = &model.tensors[26];
    ck_assert_str_eq(first_dense->name, "classifier.0.weight");
    ck_assert_double_lt(ready_at[26], 0.51);
}
END_TEST

START_TEST(an_accelerator_does_300_images_of_resnet50_per_second)
{
    ck_assert(model_make(&model, "resnet50"));
    ck_assert_double_eq_tol(compute_seconds_of_accelerator(&model, 300), 1, 1e-3);
    ck_assert_double_eq_tol(compute_seconds_of_accelerator(&model, 30), 0.1, 1e-4);
}
END_TEST

static double seconds(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void compute_in_parts(struct compute *compute, double total)
{
    compute_begin(compute);
    for (int part = 1; part <= 8; part++)
        compute_until(compute, total * part / 8);
}

START_TEST(sleeping_takes_its_time)
{
    struct compute compute = { .kind = COMPUTE_SLEEP };
    double begin = seconds(CLOCK_MONOTONIC);
    compute_in_parts(&compute, 0.004);
    ck_assert_double_ge(seconds(CLOCK_MONOTONIC) - begin, 0.0039999);
}
END_TEST

START_TEST(burning_takes_time_of_the_processor)
{
    struct compute compute = { .kind = COMPUTE_BURN };
    double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
    compute_in_parts(&compute, 0.004);
    ck_assert_double_ge(seconds(CLOCK_THREAD_CPUTIME_ID) - begin, 0.0039999);
}
END_TEST

START_TEST(what_has_been_computed_is_not_computed_again)
{
    struct compute compute = { .kind = COMPUTE_BURN };
    compute_begin(&compute);
    compute_until(&compute, 0.001);
    double spent = compute.spent;
    compute_until(&compute, 0.0005);
    ck_assert_double_eq(compute.spent, spent);
}
END_TEST

static const struct option_case {
    const char *arguments[4];
    const char *said; /* NULL: fine */
} option_cases[] = {
    { { "--model", "vgg16" }, NULL },
    { { "--fp16-allreduce", "--compression", "fp16" }, NULL },
    { { "--groups", "32", "--model", "vgg16" }, NULL },
    { { "--model", "resnet" },
      "--model wants resnet50, resnet101, inception3 or vgg16, not 'resnet'" },
    { { "--compression", "fp8" }, "--compression wants none, fp16 or bf16, not 'fp8'" },
    { { "--fp16-allreduce", "--compression", "bf16" },
      "--fp16-allreduce and --compression 'bf16' exclude each other" },
    { { "--use-adasum", "--groups", "2" }, "--use-adasum and --groups exclude each other" },
    { { "--device", "--groups", "3" }, NULL },
    { { "--device", "--use-adasum" }, "--device and --use-adasum exclude each other" },
    { { "--device", "--fp16-allreduce" }, "--device and --compression exclude each other" },
    { { "--groups", "33", "--model", "vgg16" },
      "--groups wants at most the 32 tensors of vgg16, not '33'" },
    { { "--compute", "100" }, "--compute wants sleep:MS or burn:MS" },
};

START_TEST(options_are_checked)
{
    static struct synthetic_options options;
    options = synthetic_defaults;
    struct problem problem = { 0 };
    char *argv[6] = { "synthetic_benchmark" };
    int argc = 1;
    while (argc < 5 && option_cases[_i].arguments[argc - 1] != NULL) {
        argv[argc] = (char *)option_cases[_i].arguments[argc - 1];
        argc++;
    }
    ck_assert_int_eq(options_parse(synthetic_option_rows, synthetic_option_row_count, &options,
                                   argc, argv, &problem),
                     0);
    int rc = synthetic_options_check(&options, &problem);
    const char *said = option_cases[_i].said;
    ck_assert_int_eq(rc, said == NULL ? 0 : -1);
    ck_assert_int_eq(problem.exit_status, said == NULL ? 0 : EXIT_STATUS_USAGE);
    ck_assert_ptr_nonnull(strstr(problem.text, said == NULL ? "" : said));
}
END_TEST

START_TEST(a_smaller_model_computes_as_long)
{
    static struct synthetic_options options;
    struct problem problem = { 0 };
    options = synthetic_defaults;
    ck_assert_int_eq(synthetic_options_check(&options, &problem), 0);
    double seconds_of_all = options.compute.seconds;
    options.shrink = 64;
    ck_assert_int_eq(synthetic_options_check(&options, &problem), 0);
    ck_assert_double_eq(options.compute.seconds, seconds_of_all);
    ck_assert_int_eq(options.model.tensors[0].dims[0], 1);
    ck_assert_int_eq(options.model.tensors[159].dims[0], 15);
    ck_assert_int_eq(options.model.tensors[159].dims[1], 2048);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("synthetic_compute");
    TCase *text = tcase_create("text");
    tcase_add_loop_test(text, a_kind_and_milliseconds_are_read, 0, sizeof good / sizeof *good);
    tcase_add_loop_test(text, anything_else_is_a_mistake_that_is_quoted, 0,
                        sizeof bad / sizeof *bad);
    tcase_add_loop_test(text, options_are_checked, 0, sizeof option_cases / sizeof *option_cases);
    tcase_add_test(text, a_smaller_model_computes_as_long);
    suite_add_tcase(suite, text);
    TCase *schedule = tcase_create("schedule");
    tcase_add_test(schedule, gradients_come_from_the_last_to_the_first);
    tcase_add_test(schedule, a_layer_takes_the_time_of_its_multiplications);
    tcase_add_test(schedule, an_accelerator_does_300_images_of_resnet50_per_second);
    suite_add_tcase(suite, schedule);
    TCase *time = tcase_create("time");
    tcase_add_test(time, sleeping_takes_its_time);
    tcase_add_test(time, burning_takes_time_of_the_processor);
    tcase_add_test(time, what_has_been_computed_is_not_computed_again);
    suite_add_tcase(suite, time);
    return unit_run(suite);
}
