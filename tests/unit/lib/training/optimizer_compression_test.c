/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients that travel as halves: how far from the average they may come out, the same on every
 * rank, and what is too large. */
#include "lib/hvd_optimizer.h"

#include "tests/support/elements.h"
#include "tests/support/model.h"
#include "tests/support/ranks.h"
#include "tests/support/unit.h"

#include <math.h>
#include <string.h>

/* More than are converted at a time, not a multiple of it, and in part more than travels with the
 * agreement. */
enum { COUNT = 40003, SMALL = 37 };

static struct model model;
static float data[COUNT], single[COUNT], small[SMALL], all[4 * COUNT];
static double twice[COUNT];
static double expected[COUNT];

static int do_nothing(void *unused)
{
    (void)unused;
    return 0;
}

static struct hvd_optimizer *create(const struct hvd_optimizer_options *options)
{
    struct hvd_optimizer *optimizer;
    const int64_t count = COUNT, few = SMALL;
    const struct hvd_parameter parameters[] = {
        { "single", data, single, HVD_FLOAT32, 1, &count, 0 },
        { "double", data, twice, HVD_FLOAT64, 1, &count, 0 },
        { "small", data, small, HVD_FLOAT32, 1, &few, 0 },
    };
    REQUIRE_STATUS(hvd_optimizer_create(parameters, 3, options, do_nothing, NULL, &optimizer),
                   HVD_OK);
    return optimizer;
}

/* The gradient of a rank, from 0.5 to below 2: halves are not denormal. */
static double gradient_of(int rank, int i)
{
    uint64_t state = (uint64_t)rank * 1000003 + (uint64_t)i + 1;
    next_random(&state);
    return (0.5 + fabs(random_number(&state)) * 1.5) * (i % 2 ? 1 : -1);
}

static void fill(int rank, int size)
{
    for (int i = 0; i < COUNT; i++) {
        single[i] = (float)(twice[i] = gradient_of(rank, i));
        if (i < SMALL)
            small[i] = single[i];
        expected[i] = 0;
        for (int r = 0; r < size; r++)
            expected[i] += gradient_of(r, i) / size;
    }
}

/* Each gradient is rounded once, and each of the sums; none of them is above `size` times 2. */
static void check(int size, double rounding)
{
    double bound = 2 * size * size * rounding;
    for (int i = 0; i < COUNT; i++) {
        REQUIRE(fabs((double)single[i] - expected[i]) <= bound);
        REQUIRE(fabs(twice[i] - expected[i]) <= bound);
        REQUIRE(i >= SMALL || fabs((double)small[i] - expected[i]) <= bound);
    }
}

static void require_same_bits(int size)
{
    REQUIRE_STATUS(hvd_allgather("all", single, all, COUNT, HVD_FLOAT32), HVD_OK);
    for (int r = 0; r < size; r++)
        REQUIRE(memcmp(all + r * COUNT, single, sizeof single) == 0);
}

static const struct {
    enum hvd_compression compression;
    enum hvd_dtype dtype;
} kinds[] = { { HVD_COMPRESSION_FP16, HVD_FLOAT16 }, { HVD_COMPRESSION_BF16, HVD_BFLOAT16 } };

static int reduce_compressed(int rank)
{
    init_world();
    int size = hvd_size();
    for (int k = 0; k < 2; k++) {
        struct hvd_optimizer_options options = { .compression = kinds[k].compression,
                                                 .predivide_factor = 4 };
        struct hvd_optimizer *optimizer = create(&options);
        for (int step = 0; step < 2; step++) {
            fill(rank, size);
            int64_t sent = hvd_bytes_sent();
            for (int i = 0; i < 3; i++)
                REQUIRE_STATUS(hvd_optimizer_ready(optimizer, i), HVD_OK);
            REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
            REQUIRE(hvd_bytes_sent() - sent < COUNT * 12); /* of two ranks, as they are */
            check(size, element_rounding(kinds[k].dtype));
            require_same_bits(size);
        }
        hvd_optimizer_destroy(optimizer);
    }
    return leave_world();
}

START_TEST(compressed_gradients_are_near_the_average_and_the_same_everywhere)
{
    ranks_run(&(struct mini_options){ .size = _i }, reduce_compressed);
}
END_TEST

/* One of two ranks has no gradients: half of the other's. */
static int compress_zeros(int rank)
{
    const struct hvd_optimizer_options options = { .compression = HVD_COMPRESSION_FP16,
                                                   .equal_groups = 1 };
    init_world();
    struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
    for (int step = 0; step < 2; step++) {
        model_set_all(&model, 99);
        if (rank == 0)
            model_ready_all(&model, optimizer, 5);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require_all(&model, 2.5);
    }
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(missing_gradients_travel_as_zeros_and_other_types_as_they_are)
{
    ranks_run(&(struct mini_options){ .size = 2 }, compress_zeros);
}
END_TEST

static int exceed(int rank)
{
    static const double values[] = { 65504, 65519, 65520, -1e30, 1e300, 1e-10 };
    static const double of_fp16[] = { 65504, 65504, INFINITY, -INFINITY, INFINITY, 0 };
    const struct hvd_optimizer_options options = { .compression = HVD_COMPRESSION_FP16,
                                                   .op = HVD_MAX };
    (void)rank;
    init_world();
    struct hvd_optimizer *optimizer = create(&options);
    memcpy(twice, values, sizeof values);
    for (int i = 0; i < 6; i++)
        small[i] = (float)values[i];
    REQUIRE_STATUS(hvd_optimizer_ready(optimizer, 1), HVD_OK);
    REQUIRE_STATUS(hvd_optimizer_ready(optimizer, 2), HVD_OK);
    REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
    for (int i = 0; i < 6; i++)
        REQUIRE(twice[i] == of_fp16[i] && (double)small[i] == of_fp16[i]);
    hvd_optimizer_destroy(optimizer);
    return leave_world();
}

START_TEST(what_is_too_large_for_fp16_becomes_infinite)
{
    ranks_run(&(struct mini_options){ .size = 2 }, exceed);
}
END_TEST

/* Two of three ranks' gradients add up to more than a float16 can hold. */
static int predivide(int rank)
{
    struct hvd_optimizer_options options = { .compression = HVD_COMPRESSION_FP16 };
    (void)rank;
    init_world();
    for (int k = 0; k < 2; k++) {
        options.predivide_factor = k == 0 ? 4 : 1;
        double average = k == 0 ? 32768 : (double)INFINITY;
        struct hvd_optimizer *optimizer = model_optimizer(&model, &options);
        model_ready_all(&model, optimizer, 32768);
        REQUIRE_STATUS(hvd_optimizer_step(optimizer), HVD_OK);
        model_require(&model, MODEL_SCALE, average);
        model_require(&model, MODEL_LARGE, average);
        model_require(&model, MODEL_HALF, 32768);
        hvd_optimizer_destroy(optimizer);
    }
    return leave_world();
}

START_TEST(predivision_keeps_sums_within_what_a_half_can_hold)
{
    ranks_run(&(struct mini_options){ .size = 3 }, predivide);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("optimizer_compression");
    TCase *tcase = tcase_create("optimizer_compression");
    suite_add_tcase(suite, tcase);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, compressed_gradients_are_near_the_average_and_the_same_everywhere, 2,
                        5);
    tcase_add_test(tcase, missing_gradients_travel_as_zeros_and_other_types_as_they_are);
    tcase_add_test(tcase, what_is_too_large_for_fp16_becomes_infinite);
    tcase_add_test(tcase, predivision_keeps_sums_within_what_a_half_can_hold);
    return unit_run(suite);
}
