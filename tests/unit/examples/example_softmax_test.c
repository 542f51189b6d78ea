/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax regression on the simulated accelerator: gradients against finite differences and against
 * each other, steps, and what is recognised. */
#include "examples/softmax_model.h"
#include "tests/support/unit.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { IMAGES = 12, MEMORY = 1 << 20 };

static struct accelerator *npu;
static const struct hvd_device *table;
static void *event;
static unsigned char pixels[IMAGES * IMAGE_PIXELS], labels[IMAGES];
static const struct idx_set set = { IMAGES, pixels, labels };

/* Images of noise, not all alike. */
static void setup(void)
{
    struct problem problem = { 0 };
    struct accelerator_options options = { .memory = MEMORY };
    ck_assert_int_eq(accelerator_create(&npu, &options, &problem), 0);
    table = accelerator_table(npu);
    event = table->create_event(npu);
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)((i * 2654435761u) >> 24);
    for (size_t i = 0; i < sizeof labels; i++)
        labels[i] = (unsigned char)(i * 7 % IMAGE_CLASSES);
}

static void teardown(void)
{
    table->destroy_event(npu, event);
    ck_assert_uint_eq(accelerator_holdings(npu).memory, 0);
    accelerator_destroy(npu);
}

static void start(struct softmax_model *model, int batches, double learning_rate)
{
    struct problem problem = { 0 };
    struct softmax_shape shape = { batches, learning_rate };
    ck_assert_int_eq(softmax_model_init(model, npu, &shape, &problem), 0);
    softmax_model_randomize(model, 42, 0);
}

static double learn(struct softmax_model *model, uint64_t first)
{
    uint64_t images[IMAGES];
    struct problem problem = { 0 };
    for (uint64_t i = 0; i < IMAGES; i++)
        images[i] = (first + i) % IMAGES;
    ck_assert_int_eq(softmax_model_learn(model, &set, images, event, &problem), 0);
    return softmax_model_loss(model);
}

/* The gradients, in the order of softmax_model_read(). */
static void read_gradients(struct softmax_model *model, float *values)
{
    accelerator_read(npu, values, model->d_weight, SOFTMAX_WEIGHTS * sizeof *values);
    accelerator_read(npu, values + SOFTMAX_WEIGHTS, model->d_bias, IMAGE_CLASSES * sizeof *values);
}

static void change(struct softmax_model *model, int which, float value)
{
    float *at =
        which < SOFTMAX_WEIGHTS ? model->weight + which : model->bias + (which - SOFTMAX_WEIGHTS);
    accelerator_write(npu, at, &value, sizeof value);
}

/* Loss of one image as the parameter moves by 1/64 to either side. */
START_TEST(gradients_are_the_slopes_of_the_loss)
{
    static float values[SOFTMAX_VALUES], gradients[SOFTMAX_VALUES];
    struct softmax_model model;
    start(&model, 1, 0.1);
    for (int c = 0; c < IMAGE_CLASSES; c++) { /* so that no class is certain */
        for (int i = 0; i < IMAGE_PIXELS; i++)
            change(&model, i * IMAGE_CLASSES + c, (float)(i % 3 - 1) * (float)c / 64);
    }
    learn(&model, 3);
    read_gradients(&model, gradients);
    softmax_model_read(&model, values);
    for (int i = 5; i < SOFTMAX_VALUES; i += i < SOFTMAX_WEIGHTS ? 101 : 1) {
        change(&model, i, values[i] + 1.0f / 64);
        double above = learn(&model, 3);
        change(&model, i, values[i] - 1.0f / 64);
        double slope = (above - learn(&model, 3)) * 32;
        change(&model, i, values[i]);
        ck_assert_double_eq_tol(slope, (double)gradients[i], 1e-4);
    }
    softmax_model_fini(&model);
}
END_TEST

START_TEST(a_step_of_many_batches_is_the_mean_of_each)
{
    static float together[SOFTMAX_VALUES], single[SOFTMAX_VALUES], mean[SOFTMAX_VALUES];
    struct softmax_model one, all;
    double loss = 0;
    start(&one, 1, 0.1);
    start(&all, IMAGES, 0.1);
    memset(mean, 0, sizeof mean);
    for (uint64_t image = 0; image < IMAGES; image++) {
        loss += learn(&one, image) / IMAGES;
        read_gradients(&one, single);
        for (int i = 0; i < SOFTMAX_VALUES; i++)
            mean[i] += single[i] / IMAGES;
    }
    ck_assert_double_eq_tol(learn(&all, 0), loss, 1e-9);
    read_gradients(&all, together);
    for (int i = 0; i < SOFTMAX_VALUES; i++)
        ck_assert_float_eq_tol(together[i], mean[i], 1e-6f);
    softmax_model_fini(&one);
    softmax_model_fini(&all);
}
END_TEST

START_TEST(a_step_goes_down_the_gradients)
{
    static float before[SOFTMAX_VALUES], gradients[SOFTMAX_VALUES], after[SOFTMAX_VALUES];
    struct softmax_model model;
    struct problem problem = { 0 };
    start(&model, IMAGES, 0.25);
    learn(&model, 0);
    read_gradients(&model, gradients);
    softmax_model_read(&model, before);
    ck_assert_int_eq(softmax_model_update(&model, &problem), 0);
    softmax_model_read(&model, after);
    for (int i = 0; i < SOFTMAX_VALUES; i++)
        ck_assert_float_eq_tol(after[i], before[i] - gradients[i] / 4, 1e-6f);
    softmax_model_fini(&model);
}
END_TEST

/* Also when there is room for fewer images at a time than are tested. */
START_TEST(what_has_been_learned_is_recognised)
{
    struct softmax_model model;
    struct problem problem = { 0 };
    start(&model, IMAGES, 0.5);
    double first = learn(&model, 0), last = first;
    for (int step = 0; step < 60; step++) {
        ck_assert_int_eq(softmax_model_update(&model, &problem), 0);
        last = learn(&model, 0);
    }
    ck_assert_double_lt(last, first / 10);
    model.shape.batches = 5;
    ck_assert_int_eq(softmax_model_count_correct(&model, &set, 0, IMAGES, &problem), IMAGES);
    ck_assert_int_eq(softmax_model_count_correct(&model, &set, 2, 9, &problem), 7);
    ck_assert_int_eq(softmax_model_count_correct(&model, &set, 4, 4, &problem), 0);
    softmax_model_fini(&model);
}
END_TEST

START_TEST(weights_are_normal_and_each_rank_has_its_own)
{
    static float values[2][SOFTMAX_VALUES];
    struct softmax_model model;
    start(&model, 1, 0.1);
    softmax_model_read(&model, values[0]);
    softmax_model_randomize(&model, 42, 1);
    softmax_model_read(&model, values[1]);
    double mean = 0, square = 0, product = 0;
    for (int i = 0; i < SOFTMAX_WEIGHTS; i++) {
        double value = (double)values[0][i];
        mean += value / SOFTMAX_WEIGHTS;
        square += value * value / SOFTMAX_WEIGHTS;
        product += value * (double)values[1][i] / SOFTMAX_WEIGHTS;
    }
    ck_assert_double_eq_tol(mean, 0, 0.05);
    ck_assert_double_eq_tol(square, 1, 0.1);
    ck_assert_double_eq_tol(product, 0, 0.05);
    for (int i = SOFTMAX_WEIGHTS; i < SOFTMAX_VALUES; i++)
        ck_assert_float_eq(values[0][i], 0);
    softmax_model_randomize(&model, 42, 0);
    softmax_model_read(&model, values[1]);
    ck_assert_mem_eq(values[0], values[1], sizeof values[0]);
    softmax_model_fini(&model);
}
END_TEST

START_TEST(an_accelerator_without_room_is_a_problem)
{
    struct softmax_model model;
    struct problem problem = { 0 };
    struct softmax_shape shape = { .batches = MEMORY / IMAGE_PIXELS };
    ck_assert_int_eq(softmax_model_init(&model, npu, &shape, &problem), -1);
    ck_assert_int_eq(problem.exit_status, EXIT_STATUS_DATA);
    softmax_model_fini(&model);
}
END_TEST

START_TEST(a_kernel_that_is_refused_is_a_problem)
{
    struct softmax_model model;
    static const uint64_t images[IMAGES] = { 0 };
    start(&model, IMAGES, 0.1);
    for (unsigned nth = 1; nth <= IMAGES + 1; nth += IMAGES / 2) {
        struct problem problem = { 0 };
        accelerator_inject(
            npu, &(struct accelerator_faults){ .refuse = { [ACCELERATOR_COMPUTE] = nth } });
        ck_assert_int_eq(softmax_model_learn(&model, &set, images, event, &problem), -1);
        ck_assert_str_eq(problem.text, "the accelerator refuses a kernel: -5");
    }
    softmax_model_fini(&model);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("softmax");
    TCase *tcase = tcase_create("model");
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, gradients_are_the_slopes_of_the_loss);
    tcase_add_test(tcase, a_step_of_many_batches_is_the_mean_of_each);
    tcase_add_test(tcase, a_step_goes_down_the_gradients);
    tcase_add_test(tcase, what_has_been_learned_is_recognised);
    tcase_add_test(tcase, weights_are_normal_and_each_rank_has_its_own);
    tcase_add_test(tcase, an_accelerator_without_room_is_a_problem);
    tcase_add_test(tcase, a_kernel_that_is_refused_is_a_problem);
    suite_add_tcase(suite, tcase);
    return unit_run(suite);
}
