/* SPDX-License-Identifier: Apache-2.0 */
/* What is around the network in the examples: the optimizers against numbers worked out by hand,
 * the progress line, curves, and fashion_mnist's options. */
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "examples/fashion_options.h"
#include "examples/support/curve.h"
#include "examples/support/optimizer.h"
#include "examples/support/progress.h"

START_TEST(adam_steps_as_worked_out_by_hand)
{
    struct optimizer adam;
    float parameter = 1;
    const float first = 0.5f, second = -0.25f;
    ck_assert_int_eq(optimizer_init(&adam, OPTIMIZER_ADAM, 1), 0);
    adam.learning_rate = 0.1;
    optimizer_step(&adam, &parameter, &first); /* the first step is the learning rate long */
    ck_assert_float_eq_tol(parameter, 0.9f, 1e-6f);
    optimizer_step(&adam, &parameter, &second);
    /* mean 0.02, variance 0.00031225: 0.1 x sqrt(1 - 0.999^2) / (1 - 0.9^2) x 0.02 / 0.0176706 */
    ck_assert_float_eq_tol(parameter, 0.9f - 0.0266337f, 1e-5f);
    optimizer_fini(&adam);
}
END_TEST

START_TEST(gradient_descent_goes_down_the_gradient)
{
    struct optimizer sgd;
    float parameters[2] = { 1, 2 };
    const float gradients[2] = { 10, -10 };
    ck_assert_int_eq(optimizer_init(&sgd, OPTIMIZER_SGD, 2), 0);
    sgd.learning_rate = 0.5;
    optimizer_step(&sgd, parameters, gradients);
    ck_assert_float_eq(parameters[0], -4);
    ck_assert_float_eq(parameters[1], 7);
    optimizer_fini(&sgd);
}
END_TEST

START_TEST(the_progress_line_tells_epoch_step_loss_speed_and_time_left)
{
    struct progress progress = { .epochs = 2, .steps = 100, .images = 128 };
    char line[160];
    progress_format(&progress, line, sizeof line, 0, 49, 0.51236, 25);
    ck_assert_str_eq(line, "epoch 1/2  step 50/100  loss 0.5124  256 images/s  ETA 1:15");
}
END_TEST

START_TEST(a_run_that_goes_on_counts_its_own_steps_for_the_speed)
{
    struct progress progress = { .epochs = 2, .steps = 100, .images = 128, .before = 100 };
    char line[160];
    progress_format(&progress, line, sizeof line, 1, 49, 0.51236, 25);
    ck_assert_str_eq(line, "epoch 2/2  step 50/100  loss 0.5124  256 images/s  ETA 0:25");
}
END_TEST

START_TEST(plain_progress_is_at_most_twenty_lines_and_ends_with_the_epoch)
{
    const long steps[] = { 1, 19, 20, 21, 39, 468 };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        struct progress progress = { .epochs = 1, .steps = steps[i] };
        int lines = 0;
        for (long step = 0; step < steps[i]; step++)
            lines += progress_due(&progress, step, 0);
        ck_assert_int_le(lines, 20);
        ck_assert(progress_due(&progress, steps[i] - 1, 0));
    }
}
END_TEST

START_TEST(a_terminal_is_rewritten_ten_times_a_second)
{
    struct progress progress = { .terminal = true, .epochs = 1, .steps = 10, .last_shown = 5 };
    ck_assert(!progress_due(&progress, 3, 5.05));
    ck_assert(progress_due(&progress, 3, 5.11));
    ck_assert(progress_due(&progress, 9, 5.01));
}
END_TEST

static const char *const wrong_lines[][3] = {
    { "--frob", NULL, "unknown option '--frob' (--help lists the options)" },
    { "12", NULL, "unknown argument '12' (--help lists the options)" },
    { "", NULL, "unknown argument '' (--help lists the options)" },
    { "--epochs", NULL, "--epochs wants N after it" },
    { "--epochs", "0", "--epochs wants an integer from 1 to 1000000, not '0'" },
    { "--epochs", "-1", "--epochs wants an integer from 1 to 1000000, not '-1'" },
    { "--epochs", "2x", "--epochs wants an integer from 1 to 1000000, not '2x'" },
    { "--epochs", "", "--epochs wants an integer from 1 to 1000000, not ''" },
    { "--batch=99999999999999999999", NULL,
      "--batch wants an integer from 1 to 4096, not '99999999999999999999'" },
    { "--learning-rate", "nan", "--learning-rate wants a number from 1e-09 to 1000, not 'nan'" },
    { "--learning-rate=", NULL, "--learning-rate wants a number from 1e-09 to 1000, not ''" },
    { "--data", "", "--data wants DIR, not nothing" },
    { "--quiet=yes", NULL, "--quiet takes no value, not 'yes'" },
    { "--warmup-epochs", "-1", "--warmup-epochs wants a number from 0 to 1e+06, not '-1'" },
    { "--steps", "0", "--steps wants an integer from 1 to 1000000000, not '0'" },
    { "--resume", NULL, "--resume wants --checkpoint FILE, too" },
    { "--optimizer", "lion", "--optimizer wants adam or sgd, not 'lion'" },
};

static int parse(struct fashion_options *options, int argc, char **argv, struct problem *problem)
{
    *options = fashion_defaults;
    if (options_parse(fashion_option_rows, fashion_option_row_count, options, argc, argv, problem) <
        0)
        return -1;
    return fashion_options_check(options, problem);
}

START_TEST(a_wrong_command_line_is_told_in_one_line)
{
    for (size_t i = 0; i < sizeof wrong_lines / sizeof *wrong_lines; i++) {
        const char *const *row = wrong_lines[i];
        char name[] = "fashion_mnist";
        char *argv[] = { name, (char *)(uintptr_t)row[0], (char *)(uintptr_t)row[1], NULL };
        struct fashion_options options;
        struct problem problem = { 0 };
        int rc = parse(&options, row[1] ? 3 : 2, argv, &problem);
        ck_assert_int_eq(rc, -1);
        ck_assert_int_eq(problem.exit_status, EXIT_STATUS_USAGE);
        ck_assert_str_eq(problem.text, row[2]);
    }
}
END_TEST

START_TEST(a_right_command_line_fills_in_the_options)
{
    char line[][24] = { "fashion_mnist",       "--epochs",         "3",
                        "--batch=7",           "--quiet",          "--data",
                        "/some/where",         "--resume",         "--learning-rate=0.5",
                        "--warmup-epochs=1.5", "--checkpoint=file" };
    enum { WORDS = sizeof line / sizeof *line };
    char *argv[WORDS + 1] = { NULL };
    for (int i = 0; i < WORDS; i++)
        argv[i] = line[i];
    struct fashion_options options;
    struct problem problem = { 0 };
    ck_assert_int_eq(parse(&options, WORDS, argv, &problem), 0);
    ck_assert_int_eq(options.epochs, 3);
    ck_assert_int_eq(options.batch, 7);
    ck_assert(options.quiet && options.resume && !options.help);
    ck_assert_str_eq(options.data, "/some/where");
    ck_assert_str_eq(options.checkpoint, "file");
    ck_assert_double_eq(options.learning_rate, 0.5);
    ck_assert_double_eq(options.warmup_epochs, 1.5);
    ck_assert_int_eq(options.optimizer, OPTIMIZER_ADAM);
}
END_TEST

START_TEST(a_short_curve_is_as_it_was)
{
    static struct curve curve;
    for (int i = 0; i < CURVE_POINTS - 1; i++)
        curve_add(&curve, i, 10 * i);
    ck_assert_uint_eq(curve.count, CURVE_POINTS - 1);
    for (int i = 0; i < CURVE_POINTS - 1; i++) {
        ck_assert_double_eq(curve.x[i], i);
        ck_assert_double_eq(curve.y[i], 10 * i);
    }
}
END_TEST

START_TEST(a_long_curve_is_averages_of_neighbours)
{
    static struct curve curve;
    for (int i = 0; i < 10 * CURVE_POINTS; i++)
        curve_add(&curve, i, i % 2);
    ck_assert_uint_ge(curve.count, CURVE_POINTS / 2);
    ck_assert_uint_lt(curve.count, CURVE_POINTS);
    for (size_t i = 0; i < curve.count; i++) {
        ck_assert_double_eq(curve.x[i], (double)((i + 1) * (size_t)curve.every - 1));
        ck_assert_double_eq(curve.y[i], 0.5);
    }
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        adam_steps_as_worked_out_by_hand,
        gradient_descent_goes_down_the_gradient,
        the_progress_line_tells_epoch_step_loss_speed_and_time_left,
        a_run_that_goes_on_counts_its_own_steps_for_the_speed,
        plain_progress_is_at_most_twenty_lines_and_ends_with_the_epoch,
        a_terminal_is_rewritten_ten_times_a_second,
        a_wrong_command_line_is_told_in_one_line,
        a_right_command_line_fills_in_the_options,
        a_short_curve_is_as_it_was,
        a_long_curve_is_averages_of_neighbours,
    };
    Suite *suite = suite_create("example_training");
    TCase *cases = tcase_create("training");
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
