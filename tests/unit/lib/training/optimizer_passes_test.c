/* SPDX-License-Identifier: Apache-2.0 */
/* Several backward passes for a step: what they add up to, in every type, when their memory is the
 * program's, and what a pass that is missing means. */
#include "lib/hvd_optimizer.h"

#include "tests/support/elements.h"
#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <string.h>

static struct model model;

/* --- what they add up to --- */

static int add_up(int rank)
{
    const struct hvd_optimizer_options options = { .backward_passes = 3 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    for (int step = 1; step <= 3; step++) {
        for (int pass = 1; pass <= 3; pass++) {
            int64_t sent = hvd_bytes_sent();
            model_ready_all(&model, optimizer, pass * (rank + 1));
            if (pass < 3)
                REQUIRE(hvd_bytes_sent() - sent < MODEL_LARGE_COUNT);
        }
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, MODEL_B), HVD_ERR_INVALID);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require_all(&model, 9);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(passes_are_added_up_before_one_reduction)
{
    ranks_run(&(struct mini_options){ .size = 2 }, add_up);
}
END_TEST

static int average(int rank)
{
    const struct hvd_optimizer_options options = { .backward_passes = 4,
                                                   .average_passes = 1,
                                                   .op = HVD_SUM };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    for (int step = 1; step <= 2; step++) {
        for (int pass = 1; pass <= 4; pass++)
            model_ready_all(&model, optimizer, pass * (rank + 1));
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require_all(&model, 7.5);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(passes_can_be_averaged)
{
    ranks_run(&(struct mini_options){ .size = 2 }, average);
}
END_TEST

/* More than are converted at a time, and not a multiple of it. */
enum { COUNT = 2500, PASSES = 3 };
static double data[COUNT];
static unsigned char gradient[COUNT * 8 + 1];

static int do_nothing(void *unused)
{
    (void)unused;
    return 0;
}

static struct hvd_optimizer *create_one(enum hvd_dtype dtype, int average_passes)
{
    struct hvd_optimizer *optimizer;
    const int64_t count = COUNT;
    const struct hvd_parameter parameter = { .name = "p",
                                             .data = data,
                                             .gradient = gradient + 1,
                                             .dtype = dtype,
                                             .ndims = 1,
                                             .dims = &count };
    const struct hvd_optimizer_options options = { .op = HVD_MAX,
                                                   .backward_passes = PASSES,
                                                   .average_passes = average_passes };
    REQUIRE_STATUS(hvd_optimizer_create(&parameter, 1, &options, do_nothing, NULL, &optimizer),
                   HVD_OK);
    return optimizer;
}

/* Pass p gives 0, p, 2p, ..., and overwrites what it gave when that has been taken. */
static void run_passes(struct hvd_optimizer *optimizer, enum hvd_dtype dtype)
{
    for (int pass = 1; pass <= PASSES; pass++) {
        for (size_t i = 0; i < COUNT; i++)
            element_put(dtype, gradient + 1, i, (double)((int)(i % 4) * pass));
        REQUIRE_STATUS(hvd_optimizer_ready(optimizer, 0), HVD_OK);
        if (pass < PASSES)
            memset(gradient, 0x5a, sizeof gradient);
    }
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
}

static int add_up_every_type(int rank)
{
    (void)rank;
    init_world();
    for (int dtype = HVD_UINT8; dtype <= HVD_BFLOAT16; dtype++)
        for (int average_passes = 0; average_passes <= (dtype != HVD_BOOL); average_passes++) {
            struct hvd_optimizer *optimizer = create_one((enum hvd_dtype)dtype, average_passes);
            run_passes(optimizer, (enum hvd_dtype)dtype);
            for (size_t i = 0; i < COUNT; i++) {
                double expected = (double)(i % 4) * (average_passes ? 2 : 6);
                if (dtype == HVD_BOOL)
                    expected = i % 4 != 0;
                REQUIRE(element_get((enum hvd_dtype)dtype, gradient + 1, i) == expected);
            }
            hvd_optimizer_destroy(optimizer);
        }
    return leave_world();
}

START_TEST(passes_of_every_type_are_added_up_beside_the_gradient)
{
    ranks_run(&(struct mini_options){ .size = 1 }, add_up_every_type);
}
END_TEST

/* In bfloat16, 256 + 1 is 256. */
static int add_small_to_large(int rank)
{
    static const double passes[] = { 256, 1, 1 };
    const struct hvd_optimizer_options options = { .backward_passes = 3 };
    (void)rank;
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    for (int i = 0; i < 3; i++)
        model_ready(&model, optimizer, MODEL_HALF, passes[i]);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require(&model, MODEL_HALF, 258);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(halves_are_added_up_as_floats)
{
    ranks_run(&(struct mini_options){ .size = 2 }, add_small_to_large);
}
END_TEST

/* --- what is missing --- */

/* Of three passes rank 0 makes two and rank 1 one; in the first step "b" has none at all. */
static int miss_passes(int rank)
{
    const struct hvd_optimizer_options options = { .backward_passes = 3,
                                                   .op = HVD_SUM,
                                                   .average_passes = 1 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    model_set(&model, MODEL_B, 77);
    for (int step = 0; step < 2; step++) {
        for (int pass = 0; pass < 2 - rank; pass++)
            for (int i = 0; i < MODEL_PARAMETERS; i++)
                if (i != MODEL_B || step == 1)
                    model_ready(&model, optimizer, i, 3);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require(&model, MODEL_W, 3);
        model_require(&model, MODEL_HALF, 3);
        model_require(&model, MODEL_B, step == 1 ? 3 : 0);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(passes_that_never_came_have_given_zeros)
{
    ranks_run(&(struct mini_options){ .size = 2 }, miss_passes);
}
END_TEST

static int begin_again(int rank)
{
    const struct hvd_optimizer_options options = { .backward_passes = 2 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    model_ready_all(&model, optimizer, 50);
    REQUIRE_STATUS(hvd_optimizer_zero_gradients(optimizer), HVD_OK);
    model_require_all(&model, 0);
    for (int pass = 0; pass < 2; pass++)
        model_ready_all(&model, optimizer, rank);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    model_require_all(&model, 1);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(setting_gradients_to_zero_forgets_earlier_passes)
{
    ranks_run(&(struct mini_options){ .size = 2 }, begin_again);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_passes");
    TCase *tcase = tcase_create("optimizer_passes");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, passes_are_added_up_before_one_reduction);
    tcase_add_test(tcase, passes_can_be_averaged);
    tcase_add_test(tcase, passes_of_every_type_are_added_up_beside_the_gradient);
    tcase_add_test(tcase, halves_are_added_up_as_floats);
    tcase_add_test(tcase, passes_that_never_came_have_given_zeros);
    tcase_add_test(tcase, setting_gradients_to_zero_forgets_earlier_passes);
    return unit_run(suite);
}
