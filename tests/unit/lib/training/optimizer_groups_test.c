/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients that are reduced together: which, when, and what stands for those that are missing. */
#include "lib/hvd_optimizer.h"

#include "lib/training/optimizer_impl.h"
#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <stdio.h>

static struct model model;

static const int outer[] = { MODEL_LARGE, MODEL_W, MODEL_HALF }, inner[] = { MODEL_EMPTY };
static const struct hvd_parameter_group given[] = { { outer, 3 }, { inner, 1 } };

/* --- which --- */

struct groups {
    struct hvd_optimizer_options options;
    int count;
    const char *groups; /* of each parameter, its group */
};

static const struct groups all_groups[] = {
    { { 0 }, 6, "012345" },
    { { .equal_groups = 1 }, 1, "000000" },
    { { .equal_groups = 2 }, 2, "000111" },
    { { .equal_groups = 4 }, 4, "001123" },
    { { .equal_groups = 5 }, 5, "001234" },
    { { .equal_groups = 6 }, 6, "012345" },
    { { .equal_groups = 7000000 }, 6, "012345" },
    { { .groups = given, .ngroups = 2 }, 4, "023001" },
    { { .groups = given, .ngroups = 1 }, 4, "012003" },
};

static int put_into_groups(int rank)
{
    (void)rank;
    init_world();
    for (const struct groups *at = all_groups;
         at < all_groups + sizeof all_groups / sizeof *all_groups; at++) {
        struct hvd_optimizer *optimizer = model_optimizer(&model, &at->options);
        REQUIRE(optimizer->ngroups == at->count);
        for (int i = 0; i < MODEL_PARAMETERS; i++)
            REQUIRE(optimizer->gradients[i].group - optimizer->groups == at->groups[i] - '0');
        hvd_optimizer_destroy(optimizer);
    }
    return leave_world();
}

START_TEST(groups_are_as_given_or_equal_pieces_and_the_rest_is_alone)
{
    ranks_run(&(struct mini_options){ .size = 1 }, put_into_groups);
}
END_TEST

/* --- what comes out --- */

static int reduce_in_groups(int rank)
{
    init_world();
    for (const struct groups *at = all_groups;
         at < all_groups + sizeof all_groups / sizeof *all_groups; at++) {
        struct hvd_optimizer_options options = at->options;
        options.predivide_factor = 2;
        struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
        for (int step = 1; step <= 2; step++) {
            model_ready_all(&model, optimizer, 2 * rank);
            REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
            model_require_all(&model, 1);
        }
        hvd_optimizer_destroy(optimizer);
    }
    return leave_world();
}

START_TEST(groups_change_nothing_in_what_comes_out)
{
    ranks_run(&(struct mini_options){ .size = 2 }, reduce_in_groups);
}
END_TEST

static int give_another_order(int rank)
{
    const int members[] = { MODEL_LARGE, MODEL_W, MODEL_LARGE };
    const struct hvd_parameter_group group = { &members[rank], 2 };
    const struct hvd_optimizer_options options = { .groups = &group, .ngroups = 1 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    model_ready_all(&model, optimizer, 2 * rank);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_all(&model, 1);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(ranks_may_give_a_group_in_different_orders)
{
    ranks_run(&(struct mini_options){ .size = 2 }, give_another_order);
}
END_TEST

/* --- when --- */

static void reduce_group_by_hand(void)
{
    static const int members[] = { MODEL_W, MODEL_LARGE, MODEL_HALF };
    struct hvd_tensor tensors[3];
    char names[3][24];
    int64_t handle;
    for (int i = 0; i < 3; i++) {
        const struct hvd_parameter *parameter = &model.parameters[members[i]];
        snprintf(names[i], sizeof names[i], "allreduce.%s", parameter->name);
        tensors[i] = (struct hvd_tensor){ .name = names[i],
                                          .input = parameter->gradient,
                                          .output = parameter->gradient,
                                          .dtype = parameter->dtype,
                                          .ndims = parameter->ndims,
                                          .dims = parameter->dims };
    }
    REQUIRE_STATUS(hvd_grouped_allreduce_async(tensors, 3, HVD_AVERAGE, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
}

/* Rank 1 reduces by hand what the optimizer of rank 0 has on its way, long before a step. */
static int complete_a_group(int rank)
{
    const struct hvd_optimizer_options options = { .groups = given, .ngroups = 1 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    model_set_all(&model, 2 * rank);
    for (int i = 0; i < 3 && rank == 0; i++) {
        REQUIRE(!optimizer->gradients[outer[i]].group->in_flight);
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, outer[i]), HVD_OK);
    }
    if (rank == 1)
        reduce_group_by_hand();
    REQUIRE_STATUS(hvd_barrier(), HVD_OK);
    hvd_optimizer_destroy(optimizer);
    for (int i = 0; i < 3; i++)
        model_require(&model, outer[i], 1);
    return leave_world();
}

START_TEST(a_group_is_sent_when_its_last_gradient_is_ready)
{
    ranks_run(&(struct mini_options){ .size = 2 }, complete_a_group);
}
END_TEST

/* Rank 0 lacks a gradient of each group, rank 1 has only one. */
static int lack_some(int rank)
{
    const struct hvd_optimizer_options options = { .equal_groups = 2 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    for (int step = 1; step <= 3; step++) {
        model_set_all(&model, 99);
        if (rank == 1)
            model_ready(&model, optimizer, MODEL_HALF, 6);
        for (int i = 0; i < MODEL_PARAMETERS && rank == 0; i++)
            if (i != MODEL_B && i != MODEL_LARGE)
                model_ready(&model, optimizer, i, 2);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require(&model, MODEL_W, 1);
        model_require(&model, MODEL_B, 0);
        model_require(&model, MODEL_SCALE, 1);
        model_require(&model, MODEL_LARGE, 0);
        model_require(&model, MODEL_HALF, 4);
        REQUIRE(model.updates == step);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(gradients_that_are_missing_in_groups_are_zeros)
{
    ranks_run(&(struct mini_options){ .size = 2 }, lack_some);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_groups");
    TCase *tcase = tcase_create("optimizer_groups");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, groups_are_as_given_or_equal_pieces_and_the_rest_is_alone);
    tcase_add_test(tcase, groups_change_nothing_in_what_comes_out);
    tcase_add_test(tcase, ranks_may_give_a_group_in_different_orders);
    tcase_add_test(tcase, a_group_is_sent_when_its_last_gradient_is_ready);
    tcase_add_test(tcase, gradients_that_are_missing_in_groups_are_zeros);
    return unit_run(suite);
}
