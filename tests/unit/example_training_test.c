/* SPDX-License-Identifier: Apache-2.0 */
/* What is around the network in the examples: the optimizers against numbers worked out by hand,
 * how images are dealt to ranks, the progress line, options, and checkpoints: written, read back,
 * cut off, and damaged. */
#include "tests/support/unit.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/fashion_options.h"
#include "examples/support/checkpoint.h"
#include "examples/support/optimizer.h"
#include "examples/support/progress.h"
#include "examples/support/sampler.h"

START_TEST(adam_steps_as_worked_out_by_hand)
{
    struct optimizer adam;
    float parameter = 1;
    const float first = 0.5f, second = -0.25f;
    ck_assert_int_eq(optimizer_init(&adam, OPTIMIZER_ADAM, 1, 0.1), 0);
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
    ck_assert_int_eq(optimizer_init(&sgd, OPTIMIZER_SGD, 2, 0.5), 0);
    optimizer_step(&sgd, parameters, gradients);
    ck_assert_float_eq(parameters[0], -4);
    ck_assert_float_eq(parameters[1], 7);
    optimizer_fini(&sgd);
}
END_TEST

START_TEST(two_ranks_see_what_one_rank_sees_with_twice_the_batch)
{
    struct sampler alone, ranks[2];
    ck_assert_int_eq(sampler_init(&alone, 100, 8, 0, 1, 3), 0);
    for (int rank = 0; rank < 2; rank++) {
        ck_assert_int_eq(sampler_init(&ranks[rank], 100, 4, rank, 2, 3), 0);
        sampler_shuffle(&ranks[rank], 5);
    }
    sampler_shuffle(&alone, 5);
    ck_assert_int_eq(sampler_steps(&alone), 12);
    ck_assert_int_eq(sampler_steps(&ranks[0]), 12);
    for (long step = 0; step < 12; step++) {
        const uint32_t *both = sampler_images(&alone, step);
        ck_assert_mem_eq(both, sampler_images(&ranks[0], step), 4 * sizeof *both);
        ck_assert_mem_eq(both + 4, sampler_images(&ranks[1], step), 4 * sizeof *both);
    }
    sampler_fini(&alone);
    sampler_fini(&ranks[0]);
    sampler_fini(&ranks[1]);
}
END_TEST

START_TEST(an_epoch_sees_each_image_once)
{
    struct sampler sampler;
    int seen[97] = { 0 };
    ck_assert_int_eq(sampler_init(&sampler, 97, 97, 0, 1, 1), 0);
    sampler_shuffle(&sampler, 2);
    for (int i = 0; i < 97; i++)
        seen[sampler_images(&sampler, 0)[i]]++;
    for (int i = 0; i < 97; i++)
        ck_assert_int_eq(seen[i], 1);
    sampler_fini(&sampler);
}
END_TEST

START_TEST(shards_cover_everything_once)
{
    ck_assert_int_eq(shard_begin(10, 0, 3), 0);
    ck_assert_int_eq(shard_begin(10, 1, 3), 3);
    ck_assert_int_eq(shard_begin(10, 2, 3), 6);
    ck_assert_int_eq(shard_begin(10, 3, 3), 10);
    ck_assert_int_eq(shard_begin(1, 1, 3), 0);
    ck_assert_int_eq(shard_begin(1, 3, 3), 1);
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
    { "--quiet=yes", NULL, "--quiet takes no value" },
    { "--optimizer", "lion", "--optimizer wants adam or sgd, not 'lion'" },
};

START_TEST(a_wrong_command_line_is_told_in_one_line)
{
    for (size_t i = 0; i < sizeof wrong_lines / sizeof *wrong_lines; i++) {
        const char *const *row = wrong_lines[i];
        char name[] = "fashion_mnist";
        char *argv[] = { name, (char *)(uintptr_t)row[0], (char *)(uintptr_t)row[1], NULL };
        struct fashion_options options;
        struct problem problem = { 0 };
        int rc = fashion_options_parse(&options, row[1] ? 3 : 2, argv, &problem);
        ck_assert_int_eq(rc, -1);
        ck_assert_int_eq(problem.exit_status, EXIT_STATUS_USAGE);
        ck_assert_str_eq(problem.text, row[2]);
    }
}
END_TEST

START_TEST(a_right_command_line_fills_in_the_options)
{
    char line[][24] = { "fashion_mnist", "--epochs", "3",           "--batch=7",
                        "--quiet",       "--data",   "/some/where", "--learning-rate=0.5" };
    char *argv[9] = { NULL };
    for (int i = 0; i < 8; i++)
        argv[i] = line[i];
    struct fashion_options options;
    struct problem problem = { 0 };
    ck_assert_int_eq(fashion_options_parse(&options, 8, argv, &problem), 0);
    ck_assert_int_eq(options.epochs, 3);
    ck_assert_int_eq(options.batch, 7);
    ck_assert(options.quiet && !options.help);
    ck_assert_str_eq(options.data, "/some/where");
    ck_assert_double_eq(options.learning_rate, 0.5);
    ck_assert_int_eq(options.optimizer, OPTIMIZER_ADAM);
}
END_TEST

/* A directory of its own for each test, and a checkpoint of two tensors in it. */
static char directory[] = "/tmp/example_training_XXXXXX", path[64];
static float six[6] = { 1, -2, 3.5f, 0, 5, 6 }, two[2] = { 7, 8 };
static const struct tensor tensors[2] = {
    { .name = "six", .dimensions = 2, .shape = { 2, 3, 1, 1 }, .count = 6, .values = six },
    { .name = "two", .dimensions = 1, .shape = { 2, 1, 1, 1 }, .count = 2, .values = two },
};

static void set_up(void)
{
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/checkpoint", directory);
}

static void tear_down(void)
{
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0); /* no temporary file is left */
}

START_TEST(a_checkpoint_comes_back_as_it_was)
{
    struct problem problem = { 0 };
    struct checkpoint checkpoint;
    ck_assert_int_eq(checkpoint_write(path, tensors, 2, &problem), 0);
    ck_assert_int_eq(checkpoint_write(path, tensors, 2, &problem), 0); /* over the old one */
    ck_assert_int_eq(checkpoint_read(&checkpoint, path, &problem), 0);
    ck_assert_uint_eq(checkpoint.count, 2);
    ck_assert_str_eq(checkpoint.tensors[0].name, "six");
    ck_assert_mem_eq(checkpoint.tensors[0].shape, tensors[0].shape, sizeof tensors[0].shape);
    ck_assert_mem_eq(checkpoint.tensors[0].values, six, sizeof six);
    ck_assert_mem_eq(checkpoint.tensors[1].values, two, sizeof two);
    checkpoint_fini(&checkpoint);
}
END_TEST

START_TEST(a_checkpoint_cut_off_anywhere_is_refused)
{
    struct problem problem = { 0 };
    struct stat status;
    struct checkpoint checkpoint;
    ck_assert_int_eq(checkpoint_write(path, tensors, 2, &problem), 0);
    ck_assert_int_eq(stat(path, &status), 0);
    for (off_t size = status.st_size - 1; size >= 0; size--) {
        problem = (struct problem){ 0 };
        ck_assert_int_eq(truncate(path, size), 0);
        ck_assert_int_eq(checkpoint_read(&checkpoint, path, &problem), -1);
        ck_assert_int_eq(problem.exit_status, EXIT_STATUS_DATA);
        ck_assert_ptr_nonnull(strstr(problem.text, path));
    }
}
END_TEST

/* One byte of the header or of the first tensor's entry, and what it becomes. */
static const struct {
    long offset;
    unsigned char value;
} damage[] = {
    { 0, 'X' },          /* magic */
    { 8, 2 },            /* version */
    { 12, 1 },           /* number of tensors */
    { 15, 255 },         /* the same, far too many */
    { 16 + 31, 'x' },    /* a name without an end */
    { 16 + 32, 0 },      /* dimensions */
    { 16 + 32, 5 },      /* dimensions */
    { 16 + 36, 0 },      /* shape */
    { 16 + 36, 3 },      /* shape: more than there is */
    { 16 + 36 + 3, 255 } /* shape: absurd */
};

START_TEST(a_damaged_checkpoint_is_refused)
{
    for (size_t i = 0; i < sizeof damage / sizeof *damage; i++) {
        struct problem problem = { 0 };
        struct checkpoint checkpoint;
        ck_assert_int_eq(checkpoint_write(path, tensors, 2, &problem), 0);
        FILE *file = fopen(path, "r+b");
        ck_assert_ptr_nonnull(file);
        fseek(file, damage[i].offset, SEEK_SET);
        fputc(damage[i].value, file);
        fclose(file);
        ck_assert_int_eq(checkpoint_read(&checkpoint, path, &problem), -1);
        ck_assert_ptr_nonnull(strstr(problem.text, path));
    }
}
END_TEST

START_TEST(a_checkpoint_that_cannot_be_written_says_where)
{
    struct problem problem = { 0 };
    char nowhere[96];
    snprintf(nowhere, sizeof nowhere, "%s/missing/checkpoint", directory);
    ck_assert_int_eq(checkpoint_write(nowhere, tensors, 2, &problem), -1);
    ck_assert_ptr_nonnull(strstr(problem.text, nowhere));
    problem = (struct problem){ 0 };
    ck_assert_int_eq(checkpoint_write(directory, tensors, 2, &problem), -1); /* cannot rename */
    ck_assert_int_eq(problem.exit_status, EXIT_STATUS_DATA);
    snprintf(nowhere, sizeof nowhere, "%s.tmp-%ld", directory, (long)getpid());
    ck_assert_int_eq(access(nowhere, F_OK), -1);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        adam_steps_as_worked_out_by_hand,
        gradient_descent_goes_down_the_gradient,
        two_ranks_see_what_one_rank_sees_with_twice_the_batch,
        an_epoch_sees_each_image_once,
        shards_cover_everything_once,
        the_progress_line_tells_epoch_step_loss_speed_and_time_left,
        plain_progress_is_at_most_twenty_lines_and_ends_with_the_epoch,
        a_terminal_is_rewritten_ten_times_a_second,
        a_wrong_command_line_is_told_in_one_line,
        a_right_command_line_fills_in_the_options,
        a_checkpoint_comes_back_as_it_was,
        a_checkpoint_cut_off_anywhere_is_refused,
        a_damaged_checkpoint_is_refused,
        a_checkpoint_that_cannot_be_written_says_where,
    };
    Suite *suite = suite_create("example_training");
    TCase *cases = tcase_create("training");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
