/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers that are not made because of their parameters, or because the ranks differ. */
#include "lib/hvd_optimizer.h"

#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

static struct model model;
static float data[6], gradient[6];

#define DIMS(...)                                                                                  \
    .ndims = sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), .dims = (const int64_t[]) \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define PARAMETER(...)                                                                             \
    .parameter = &(const struct hvd_parameter)                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define FLOATS .data = data, .gradient = gradient, .dtype = HVD_FLOAT32
#define OF_TYPE(type)                                                                              \
    .name = "w", .data = data, .gradient = gradient, .dtype = (enum hvd_dtype)(type)

/* What is wrong with a list of parameters for whatever purpose is for parameters_test.c. */
static const struct model_case mistakes[] = {
    { PARAMETER(FLOATS, DIMS(6)), .place = 2, .text = "parameter 2" },
    { PARAMETER(.name = "w", FLOATS, DIMS(6)), .place = 2, .text = "parameter 'w'" },
    { PARAMETER(OF_TYPE(11)), .text = "parameter 'w': dtype 11" },
    { PARAMETER(.name = "w", FLOATS, DIMS(2, -3)), .text = "parameter 'w': dims[1] is -3" },
    { PARAMETER(.name = "w", .gradient = gradient, .dtype = HVD_FLOAT32),
      .text = "parameter 'w': data is NULL" },
    { PARAMETER(.name = "w", .data = data, .dtype = HVD_FLOAT32, DIMS(6)),
      .text = "parameter 'w': gradient is NULL" },
    { PARAMETER(.name = "v", .data = data, .gradient = &model.large[1][MODEL_LARGE_COUNT - 1],
                .dtype = HVD_FLOAT32, DIMS(1)),
      .text = "the gradients of parameter 'large' and parameter 'v' overlap" },
    { PARAMETER(.name = "v", .data = &model.large[0][1], .gradient = gradient, .dtype = HVD_FLOAT32,
                DIMS(1)),
      .options = { .op = HVD_ADASUM },
      .text = "the data of parameter 'large' and parameter 'v' overlap" },
    { PARAMETER(OF_TYPE(HVD_BOOL)), .text = "parameter 'w': bool has no average" },
    { PARAMETER(OF_TYPE(HVD_BOOL)),
      .options = { .op = HVD_MAX, .backward_passes = 2, .average_passes = 1 },
      .text = "parameter 'w': bool has no average over passes" },
    { PARAMETER(OF_TYPE(HVD_INT32)), .options = { .op = HVD_ADASUM },
      .text = "parameter 'w': adasum of int32, expected floating point" },
    { PARAMETER(.name = "w", FLOATS, DIMS(6), .device = 77), .text = "parameter 'w': " },
};
enum { MISTAKES = sizeof mistakes / sizeof *mistakes };

static int make_mistakes(int rank)
{
    (void)rank;
    init_world();
    model_require_mistakes(&model, mistakes, MISTAKES);
    return leave_world();
}

START_TEST(a_bad_parameter_of_one_rank_is_told_on_all)
{
    ranks_run(&(struct mini_options){ .size = 1 + 2 * _i }, make_mistakes);
}
END_TEST

/* --- ranks that differ --- */

#define SOME_GROUP                                                                                 \
    .groups =                                                                                      \
        &(const struct hvd_parameter_group){ .parameters = (const int[]){ 1, 2 }, .count = 2 },    \
    .ngroups = 1

static const struct model_case differences[] = {
    { PARAMETER(.name = "bias", FLOATS, DIMS(3)), .place = MODEL_B,
      .text = "rank 2 lacks 'b float32 [3]', which rank 0 has" },
    { PARAMETER(OF_TYPE(HVD_INT32), DIMS(2, 3)),
      .text = "rank 2 has 'w int32 [2, 3]', rank 0 has 'w float32 [2, 3]'" },
    { PARAMETER(OF_TYPE(HVD_FLOAT32), DIMS(3, 2)),
      .text = "rank 2 has 'w float32 [3, 2]', rank 0 has 'w float32 [2, 3]'" },
    { .options = { .op = HVD_SUM }, .text = "rank 2 has 'op sum', rank 0 has 'op average'" },
    { .options = { .compression = HVD_COMPRESSION_FP16 },
      .text = "rank 2 has 'compression fp16', rank 0 has 'compression none'" },
    { .options = { .compression = HVD_COMPRESSION_BF16 },
      .text = "rank 2 has 'compression bf16', rank 0 has 'compression none'" },
    { .options = { .backward_passes = 3 },
      .text = "rank 2 has 'backward_passes 3', rank 0 has 'backward_passes 1'" },
    { .options = { .average_passes = 1 },
      .text = "rank 2 has 'average_passes 1', rank 0 has 'average_passes 0'" },
    { .options = { .predivide_factor = 0.1 },
      .text = "rank 2 has 'predivide_factor 0.10000000000000001', rank 0 has 'predivide_factor "
              "1'" },
    { .options = { SOME_GROUP }, .text = "rank 2 has 'group 1 2', rank 0 does not" },
    { .options = { .equal_groups = 2 }, .text = "rank 2 has 'group 0 1 2', rank 0 does not" },
};
enum { DIFFERENCES = sizeof differences / sizeof *differences };

static int differ(int rank)
{
    struct hvd_optimizer_options options = { 0 };
    init_world();
    for (int i = 0; i < DIFFERENCES; i++) {
        const struct model_case *at = &differences[i];
        int rc = rank == 2 ? model_try(&model, &at->options, at->place, at->parameter)
                           : model_try(&model, NULL, 0, NULL);
        REQUIRE_STATUS(rc, HVD_ERR_MISMATCH);
        model_require_text("optimizer: ", at);
    }
    options.backward_passes = rank == 1;
    options.predivide_factor = rank == 1;
    options.equal_groups = rank == 1 ? 0 : 6;
    REQUIRE_STATUS(model_try(&model, &options, 0, NULL), HVD_OK);
    return leave_world();
}

START_TEST(ranks_that_differ_are_told_who_and_in_what)
{
    ranks_run(&(struct mini_options){ .size = 3 }, differ);
}
END_TEST

static int have_fewer(int rank)
{
    struct hvd_optimizer *optimizer;
    init_world();
    model_init(&model);
    REQUIRE_STATUS(hvd_optimizer_create(model.parameters, MODEL_PARAMETERS - (rank == 1), NULL,
                                        model_update, &model, &optimizer),
                   HVD_ERR_MISMATCH);
    require_text("optimizer: rank 1 lacks 'empty float32 [0, 4]', which rank 0 has");
    REQUIRE_STATUS(hvd_optimizer_create(model.parameters, rank == 0 ? -2 : 6, NULL, model_update,
                                        &model, &optimizer),
                   rank == 0 ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
    require_text("-2 parameters");
    return leave_world();
}

START_TEST(ranks_with_fewer_parameters_are_told)
{
    ranks_run(&(struct mini_options){ .size = 2 }, have_fewer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_agreement");
    TCase *tcase = tcase_create("optimizer_agreement");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, a_bad_parameter_of_one_rank_is_told_on_all, 0, 2);
    tcase_add_test(tcase, ranks_that_differ_are_told_who_and_in_what);
    tcase_add_test(tcase, ranks_with_fewer_parameters_are_told);
    return unit_run(suite);
}
