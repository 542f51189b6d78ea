/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers that combine updates by Adasum. */
#include "lib/hvd_optimizer.h"

#include "lib/training/optimizer_impl.h"
#include "tests/support/elements.h"
#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

static struct model model;
static const struct hvd_optimizer_options adasum = { .op = HVD_ADASUM };

/* --- what comes out --- */

/* What ranks agree on counts once, what they do not, twice: half of `w` is this rank's alone. */
static int agree_and_disagree(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &adasum);
    for (int step = 1; step <= 3; step++) {
        for (int i = 0; i < 6; i++)
            model.w[1][i] = i / 3 == rank ? 4 : 0;
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, MODEL_W), HVD_OK);
        model_ready(&model, optimizer, MODEL_B, 2);
        model_ready(&model, optimizer, MODEL_HALF, 2);
        model_ready(&model, optimizer, MODEL_SCALE, 2);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        REQUIRE(model.updates == step);
        for (int i = 0; i < 6; i++)
            REQUIRE(model.w[0][i] == (float)(100 - 4 * step));
        for (int i = 0; i < 3; i++)
            REQUIRE(model.b[0][i] == (float)(100 - 2 * step));
        REQUIRE(model.scale[0] == 100 - 2 * step);
        REQUIRE(element_get(HVD_BFLOAT16, model.half[0], 4) == 100 - 2 * step);
        REQUIRE(model.large[0][7] == 100);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(changes_are_combined_by_adasum)
{
    ranks_run(&(struct mini_options){ .size = 2 }, agree_and_disagree);
}
END_TEST

/* As an allreduce of what has changed does it by itself. */
static float start[MODEL_LARGE_COUNT], change[MODEL_LARGE_COUNT];

static void change_by_hand(int rank)
{
    const int64_t count = MODEL_LARGE_COUNT;
    const struct hvd_tensor tensor = { .name = "change",
                                       .input = change,
                                       .output = change,
                                       .dtype = HVD_FLOAT32,
                                       .ndims = 1,
                                       .dims = &count };
    int64_t handle;
    uint64_t state = (uint64_t)rank + 1;
    memcpy(start, model.large[0], sizeof start);
    for (int i = 0; i < MODEL_LARGE_COUNT; i++) {
        model.large[1][i] = (float)random_number(&state);
        change[i] = (start[i] - model.large[1][i]) - start[i];
    }
    REQUIRE_STATUS(hvd_allreduce_async(&tensor, HVD_ADASUM, NULL, &handle), HVD_OK);
    REQUIRE_STATUS(hvd_wait(handle), HVD_OK);
}

static int random_changes(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &adasum);
    for (int step = 0; step < 2; step++) {
        change_by_hand(rank);
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, MODEL_LARGE), HVD_OK);
        REQUIRE(!optimizer->gradients[MODEL_LARGE].group->in_flight);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        for (int i = 0; i < MODEL_LARGE_COUNT; i++)
            REQUIRE(model.large[0][i] == start[i] + change[i]);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(the_combined_change_is_applied_to_where_the_parameters_were)
{
    ranks_run(&(struct mini_options){ .size = _i }, random_changes);
}
END_TEST

static int compress(int rank)
{
    const struct hvd_optimizer_options options = { .op = HVD_ADASUM,
                                                   .compression = HVD_COMPRESSION_BF16 };
    (void)rank;
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    model_ready_all(&model, optimizer, 0.3);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    REQUIRE(fabs(model.scale[0] - 99.7) < 0.002 && model.scale[0] != 99.7);
    REQUIRE(fabsf(model.large[0][0] - 99.7F) < 0.002F);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(changes_can_travel_compressed)
{
    ranks_run(&(struct mini_options){ .size = 2 }, compress);
}
END_TEST

static int several_passes(int rank)
{
    const struct hvd_optimizer_options options = { .op = HVD_ADASUM, .backward_passes = 2 };
    (void)rank;
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    model_ready_all(&model, optimizer, 1);
    model_ready(&model, optimizer, MODEL_B, 2);
    REQUIRE_STATUS(hvd_optimizer_ready(optimizer, MODEL_B), HVD_ERR_INVALID);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    REQUIRE(model.b[0][0] == 97 && model.w[0][0] == 99);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(passes_are_added_up_before_the_update)
{
    ranks_run(&(struct mini_options){ .size = 2 }, several_passes);
}
END_TEST

static int alone(int rank)
{
    (void)rank;
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &adasum);
    model_ready_all(&model, optimizer, 5);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_data(&model, 95);
    model.result = 4;
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), 4);
    REQUIRE(hvd_bytes_sent() == 0);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_rank_that_is_alone_updates)
{
    ranks_run(&(struct mini_options){ .size = 1 }, alone);
}
END_TEST

/* --- what does not --- */

static void require_invalid(int rc)
{
    REQUIRE_STATUS(rc, HVD_ERR_INVALID);
    require_text("optimizer: adasum does not synchronize gradients");
}

/* An update may set gradients to zero; a step within a step is one too many. */
static struct hvd_optimizer *current;

static int update_with_calls(void *arg)
{
    REQUIRE_STATUS(hvd_optimizer_step(current), HVD_ERR_INVALID);
    require_text("a step or synchronization is under way");
    int rc = model_update(arg);
    REQUIRE_STATUS(hvd_optimizer_zero_gradients(current), HVD_OK);
    return rc;
}

static int call_in_the_update(int rank)
{
    init_world();
    for (int op = HVD_AVERAGE; op <= HVD_ADASUM; op += HVD_ADASUM) {
        const struct hvd_optimizer_options options = { .op = (enum hvd_op)op };
        model_init(&model);
        REQUIRE_STATUS(hvd_optimizer_create(model.parameters, MODEL_PARAMETERS, &options,
                                            update_with_calls, &model, &current),
                       HVD_OK);
        for (int step = 1; step <= 2; step++) {
            model_ready_all(&model, current, op == HVD_ADASUM ? 1 : 2 * rank);
            REQUIRE_STATUS(hvd_optimizer_step(current), HVD_OK);
            model_require_all(&model, 0);
            model_require_data(&model, 100 - step);
        }
        if (op == HVD_ADASUM) {
            require_invalid(hvd_optimizer_synchronize(current));
            require_invalid(hvd_optimizer_skip_synchronize(current));
        }
        hvd_optimizer_destroy(current);
    }
    return leave_world();
}

START_TEST(an_update_may_zero_gradients_but_not_step)
{
    ranks_run(&(struct mini_options){ .size = 2 }, call_in_the_update);
}
END_TEST

static int fail_on_one_rank(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &adasum);
    model.result = rank == 1 ? -7 : 0;
    model_ready_all(&model, optimizer, 2);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), model.result);
    model_require_data(&model, 98);
    model.result = 0;
    model_ready_all(&model, optimizer, 2);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_data(&model, 96);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(a_rank_whose_update_fails_takes_over_what_the_others_have)
{
    ranks_run(&(struct mini_options){ .size = 2 }, fail_on_one_rank);
}
END_TEST

/* While rank 1 has joined nothing can be combined. */
static int fail_on_all(int rank)
{
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &adasum);
    for (int step = 0; step < 2 && rank != 1; step++) {
        model_ready_all(&model, optimizer, 2);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_ERR_MISMATCH);
        require_text("joined");
        model_require_data(&model, 100);
    }
    REQUIRE_STATUS(hvd_join(NULL), HVD_OK);
    model_ready_all(&model, optimizer, 2);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_data(&model, 98);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(parameters_are_put_back_when_changes_cannot_be_combined)
{
    ranks_run(&(struct mini_options){ .size = 3 }, fail_on_all);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_adasum");
    TCase *tcase = tcase_create("optimizer_adasum");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, changes_are_combined_by_adasum);
    tcase_add_loop_test(tcase, the_combined_change_is_applied_to_where_the_parameters_were, 2, 5);
    tcase_add_test(tcase, changes_can_travel_compressed);
    tcase_add_test(tcase, passes_are_added_up_before_the_update);
    tcase_add_test(tcase, a_rank_that_is_alone_updates);
    tcase_add_test(tcase, an_update_may_zero_gradients_but_not_step);
    tcase_add_test(tcase, a_rank_whose_update_fails_takes_over_what_the_others_have);
    tcase_add_test(tcase, parameters_are_put_back_when_changes_cannot_be_combined);
    return unit_run(suite);
}
