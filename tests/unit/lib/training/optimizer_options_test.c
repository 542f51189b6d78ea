/* SPDX-License-Identifier: Apache-2.0 */
/* Options and calls of which nothing can come. */
#include "lib/hvd_optimizer.h"

#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <math.h>

static struct model model;

#define GROUP(...)                                                                                 \
    {                                                                                              \
        .parameters = (const int[]){ __VA_ARGS__ },                                                \
        .count = sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int)                                \
    }
#define GROUPS(...)                                                                                \
    .groups = (const struct hvd_parameter_group[]){ __VA_ARGS__ },                                 \
    .ngroups = sizeof((const struct hvd_parameter_group[]){ __VA_ARGS__ }) /                       \
               sizeof(struct hvd_parameter_group)

static const struct model_case mistakes[] = {
    { .options = { .op = (enum hvd_op)6 }, .text = "op 6 is not an operation" },
    { .options = { .op = (enum hvd_op) - 1 }, .text = "op -1 is not an operation" },
    { .options = { .compression = (enum hvd_compression)3 },
      .text = "compression 3 does not exist" },
    { .options = { .backward_passes = -1 },
      .text = "backward_passes is -1, expected 1 to 16777216" },
    { .options = { .backward_passes = 16777217 },
      .text = "backward_passes is 16777217, expected 1 to 16777216" },
    { .options = { .predivide_factor = 2, .op = HVD_SUM },
      .text = "predivide_factor is 2, but op is sum, not average" },
    { .options = { .predivide_factor = 2, .op = HVD_ADASUM },
      .text = "predivide_factor is 2, but op is adasum, not average" },
    { .options = { .predivide_factor = -1 },
      .text = "predivide_factor is -1, expected a finite number above 0" },
    { .options = { .predivide_factor = (double)INFINITY },
      .text = "predivide_factor is inf, expected a finite number above 0" },
    { .options = { .predivide_factor = (double)NAN },
      .text = "predivide_factor is nan, expected a finite number above 0" },
    { .options = { .predivide_factor = 0x1p-1074 },
      .text = "predivide_factor is 4.94066e-324, expected a finite number above 0" },
    { .options = { .ngroups = -1 }, .text = "there cannot be -1 groups" },
    { .options = { .equal_groups = -3 }, .text = "there cannot be -3 groups" },
    { .options = { .ngroups = 2 }, .text = "groups is NULL but ngroups is 2" },
    { .options = { GROUPS(GROUP(1, 2)), .equal_groups = 2 },
      .text = "both groups and equal_groups are given" },
    { .options = { GROUPS(GROUP(1, 2), { 0 }) }, .text = "group 1: it has no parameters" },
    { .options = { GROUPS({ .count = 2 }) }, .text = "group 0: it has no parameters" },
    { .options = { GROUPS(GROUP(0, 6)) },
      .text = "group 0: parameter 6 does not exist, there are 6" },
    { .options = { GROUPS(GROUP(1), GROUP(-1)) },
      .text = "group 1: parameter -1 does not exist, there are 6" },
    { .options = { GROUPS(GROUP(1, 2), GROUP(4, 2)) },
      .text = "group 1: parameter 2 is in group 0, too" },
    { .options = { GROUPS(GROUP(3, 5, 3)) }, .text = "group 0: parameter 3 is in it twice" },
    { .options = { GROUPS(GROUP(3)), .op = HVD_ADASUM }, .text = "adasum has no groups" },
    { .options = { .equal_groups = 2, .op = HVD_ADASUM }, .text = "adasum has no groups" },
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

static int make_mistakes(int rank)
{
    (void)rank;
    init_world();
    model_require_mistakes(&model, mistakes, MISTAKES);
    return leave_world();
}

START_TEST(bad_options_of_one_rank_are_told_on_all)
{
    ranks_run(&(struct mini_options){ .size = 1 + 2 * _i }, make_mistakes);
}
END_TEST

static void require_invalid(int rc, const char *text)
{
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text(text);
}

static int ask_in_sets(int rank)
{
    struct hvd_optimizer_options options = { .process_set = 9 };
    init_world();
    require_invalid(model_try(&model, &options, 0, NULL), "there is no process set 9");
    options.process_set = hvd_add_process_set((const int[]){ 0, 1 }, 2);
    options.op = HVD_ADASUM;
    require_invalid(model_try(&model, &options, 0, NULL),
                    "adasum is for the world, not for process set 1");
    options.op = rank == 0 ? HVD_PRODUCT + 1 : HVD_PRODUCT;
    int rc = model_try(&model, &options, 0, NULL);
    if (rank == 2)
        REQUIRE_STATUS(rc, HVD_OK);
    else
        REQUIRE_STATUS(rc, rank == 0 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    return leave_world();
}

START_TEST(who_is_not_in_the_process_set_does_not_hear_of_its_mistakes)
{
    ranks_run(&(struct mini_options){ .size = 3 }, ask_in_sets);
}
END_TEST

static int create_from_nothing(int rank)
{
    struct hvd_optimizer *optimizer;
    REQUIRE_STATUS(hvd_optimizer_create(NULL, 0, NULL, model_update, &model, &optimizer),
                   HVD_ERR_NOT_INITIALIZED);
    init_world();
    int rc = hvd_optimizer_create(NULL, 0, NULL, rank == 0 ? model_update : NULL, NULL,
                                  rank == 0 ? NULL : &optimizer);
    require_invalid(rc, rank == 0 ? "optimizer: there is no place for the optimizer"
                                  : "optimizer: there is no update function");
    model_init(&model);
    REQUIRE_STATUS(hvd_optimizer_create(NULL, 0, NULL, model_update, &model, &optimizer), HVD_OK);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    REQUIRE(model.updates == 1);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(no_parameters_are_fine_but_no_update_is_not)
{
    ranks_run(&(struct mini_options){ .size = 2 }, create_from_nothing);
}
END_TEST

static int call_wrongly(int rank)
{
    (void)rank;
    require_invalid(hvd_optimizer_ready(NULL, 0), "optimizer: there is none");
    require_invalid(hvd_optimizer_step(NULL), "optimizer: there is none");
    require_invalid(hvd_optimizer_synchronize(NULL), "optimizer: there is none");
    require_invalid(hvd_optimizer_skip_synchronize(NULL), "optimizer: there is none");
    require_invalid(hvd_optimizer_zero_gradients(NULL), "optimizer: there is none");
    hvd_optimizer_destroy(NULL);
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, NULL);
    require_invalid(hvd_optimizer_ready(optimizer, 6), "parameter 6 does not exist, there are 6");
    require_invalid(hvd_optimizer_ready(optimizer, -1), "parameter -1 does not exist");
    require_invalid(hvd_optimizer_ready_after(optimizer, 0, &model), "host memory");
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(wrong_arguments_are_refused)
{
    ranks_run(&(struct mini_options){ .size = 2 }, call_wrongly);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_options");
    TCase *tcase = tcase_create("optimizer_options");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, bad_options_of_one_rank_are_told_on_all, 0, 2);
    tcase_add_test(tcase, who_is_not_in_the_process_set_does_not_hear_of_its_mistakes);
    tcase_add_test(tcase, no_parameters_are_fine_but_no_update_is_not);
    tcase_add_test(tcase, wrong_arguments_are_refused);
    return unit_run(suite);
}
