/* SPDX-License-Identifier: Apache-2.0 */
/* Each layer of the examples against its numerical gradient: the loss is a fixed random sum of the
 * layer's outputs, and d(loss)/d(value) by the layer must be what a small change of that value
 * does to the loss. Then the whole network in the same way. */
#include "tests/support/unit.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#include "examples/fashion_network.h"
#include "examples/support/conv.h"
#include "examples/support/layers.h"

enum { VALUES_MAX = 1024 };

/* A layer under test: what goes in, what comes out, and the gradient that it claims. */
static float input[VALUES_MAX], weight[VALUES_MAX], bias[VALUES_MAX], output[VALUES_MAX];
static float mixture[VALUES_MAX]; /* loss = sum of mixture x output, so it is d_output as well */
static float d_input[VALUES_MAX], d_weight[VALUES_MAX], d_bias[VALUES_MAX];
static float columns[VALUES_MAX * 9];
static int32_t winner[VALUES_MAX];

static void fill(float *values, size_t count, uint64_t index)
{
    struct random_stream stream;
    random_start(&stream, 7, RANDOM_INITIAL, index);
    for (size_t i = 0; i < count; i++)
        values[i] = random_uniform(&stream, -1, 1);
}

static void set_up(void)
{
    openblas_set_num_threads(1);
    fill(input, VALUES_MAX, 1);
    fill(weight, VALUES_MAX, 2);
    fill(bias, VALUES_MAX, 3);
    fill(mixture, VALUES_MAX, 4);
    memset(d_input, 0, sizeof d_input);
    memset(d_weight, 0, sizeof d_weight);
    memset(d_bias, 0, sizeof d_bias);
}

static double mixed_output(size_t count)
{
    double loss = 0;
    for (size_t i = 0; i < count; i++)
        loss += (double)mixture[i] * (double)output[i];
    return loss;
}

/* What loss() does when `value` changes a little. */
static double slope_at(float *value, float change, double (*loss)(void))
{
    float kept = *value;
    *value = kept + change;
    double above = loss();
    *value = kept - change;
    double below = loss();
    *value = kept;
    return (above - below) / (2 * (double)change);
}

static void check_gradient(float *values, const float *claimed, size_t count, double (*loss)(void))
{
    for (size_t i = 0; i < count; i++) {
        double slope = slope_at(values + i, 0x1p-8f, loss);
        ck_assert_double_eq_tol((double)claimed[i], slope, 2e-3 * (1 + fabs(slope)));
    }
}

static const struct conv conv = { .height = 6, .width = 5, .channels = 3, .filters = 4 };

static double conv_loss(void)
{
    conv_forward(&conv, input, weight, bias, columns, output);
    return mixed_output(conv_output_count(&conv));
}

START_TEST(convolution_has_the_gradient_it_claims)
{
    conv_backward(&conv, input, weight, mixture, columns, d_weight, d_bias, d_input);
    check_gradient(input, d_input, 6 * 5 * 3, conv_loss);
    check_gradient(weight, d_weight, 3 * 3 * 3 * 4, conv_loss);
    check_gradient(bias, d_bias, 4, conv_loss);
}
END_TEST

START_TEST(convolution_is_the_sum_over_the_kernel)
{
    conv_loss();
    for (int filter = 0; filter < 4; filter++) { /* of the output pixel at row 2, column 1 */
        double sum = (double)bias[filter];
        for (int ky = 0; ky < 3; ky++)
            for (int kx = 0; kx < 3; kx++)
                for (int c = 0; c < 3; c++)
                    sum += (double)input[((2 + ky) * 5 + 1 + kx) * 3 + c] *
                           (double)weight[((ky * 3 + kx) * 3 + c) * 4 + filter];
        ck_assert_double_eq_tol((double)output[(2 * 3 + 1) * 4 + filter], sum, 1e-5);
    }
}
END_TEST

START_TEST(gradients_of_several_images_add_up)
{
    float once[3 * 3 * 3 * 4];
    conv_backward(&conv, input, weight, mixture, columns, d_weight, d_bias, NULL);
    memcpy(once, d_weight, sizeof once);
    conv_backward(&conv, input, weight, mixture, columns, d_weight, d_bias, NULL);
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        ck_assert_float_eq_tol(d_weight[i], 2 * once[i], 1e-5f);
}
END_TEST

static const struct dense dense = { .rows = 4, .inputs = 7, .outputs = 5 };

static double dense_loss(void)
{
    dense_forward(&dense, input, weight, bias, output);
    return mixed_output(4 * 5);
}

START_TEST(dense_has_the_gradient_it_claims)
{
    dense_backward(&dense, input, weight, mixture, d_weight, d_bias, d_input);
    check_gradient(input, d_input, 4 * 7, dense_loss);
    check_gradient(weight, d_weight, 7 * 5, dense_loss);
    check_gradient(bias, d_bias, 5, dense_loss);
}
END_TEST

static double relu_loss(void)
{
    memcpy(output, input, 50 * sizeof *output);
    relu_forward(output, 50);
    return mixed_output(50);
}

START_TEST(relu_has_the_gradient_it_claims)
{
    for (int i = 0; i < 50; i++) /* away from the kink */
        input[i] += input[i] < 0 ? -0.1f : 0.1f;
    relu_loss();
    memcpy(d_input, mixture, sizeof d_input);
    relu_backward(output, d_input, 50);
    check_gradient(input, d_input, 50, relu_loss);
}
END_TEST

static const struct maxpool pool = { .height = 4, .width = 6, .channels = 5 };

static double pool_loss(void)
{
    maxpool_forward(&pool, input, output, winner);
    return mixed_output(maxpool_output_count(&pool));
}

START_TEST(maxpool_has_the_gradient_it_claims)
{
    for (int i = 0; i < 4 * 6 * 5; i++) /* all different, so that no change makes another win */
        input[i] = (float)(i * 37 % 121) * 0.1f;
    pool_loss();
    maxpool_backward(&pool, mixture, winner, d_input);
    check_gradient(input, d_input, 4 * 6 * 5, pool_loss);
}
END_TEST

START_TEST(among_equals_the_first_wins_alone)
{
    const struct maxpool one = { .height = 2, .width = 2, .channels = 1 };
    float equal[4] = { 3, 3, 3, 3 }, d_output = 5, d_equal[4];
    maxpool_forward(&one, equal, output, winner);
    maxpool_backward(&one, &d_output, winner, d_equal);
    ck_assert_float_eq(output[0], 3);
    ck_assert_float_eq(d_equal[0], 5);
    for (int i = 1; i < 4; i++)
        ck_assert_float_eq(d_equal[i], 0);
}
END_TEST

START_TEST(dropout_drops_its_share_and_keeps_the_sum)
{
    enum { COUNT = 40003 };
    static float ones[COUNT];
    struct random_stream stream;
    random_start(&stream, 1, RANDOM_DROPOUT_1, 9);
    for (int i = 0; i < COUNT; i++)
        ones[i] = 1;
    dropout(stream, 0.25f, ones, COUNT);
    int dropped = 0;
    for (int i = 0; i < COUNT; i++) {
        dropped += ones[i] == 0;
        ck_assert(ones[i] == 0 || ones[i] == 1 / 0.75f);
    }
    ck_assert_int_gt(dropped, COUNT / 4 - 400);
    ck_assert_int_lt(dropped, COUNT / 4 + 400);
}
END_TEST

START_TEST(dropout_repeats_with_the_same_stream)
{
    struct random_stream stream;
    random_start(&stream, 1, RANDOM_DROPOUT_2, 3);
    float again[101];
    memcpy(again, input, sizeof again);
    dropout(stream, 0.5f, input, 101);
    dropout(stream, 0.5f, again, 101);
    ck_assert_mem_eq(input, again, sizeof again);
}
END_TEST

static double softmax_loss(void)
{
    float logits[10];
    memcpy(logits, input, sizeof logits);
    return softmax_cross_entropy(logits, 10, 3);
}

START_TEST(softmax_cross_entropy_has_the_gradient_it_claims)
{
    memcpy(d_input, input, 10 * sizeof *input);
    softmax_cross_entropy(d_input, 10, 3);
    check_gradient(input, d_input, 10, softmax_loss);
}
END_TEST

START_TEST(softmax_of_huge_logits_stays_finite)
{
    float logits[3] = { 1e30f, -1e30f, 1e30f };
    double loss = softmax_cross_entropy(logits, 3, 0);
    ck_assert_double_eq_tol(loss, log(2), 1e-6);
    ck_assert_float_eq_tol(logits[0], -0.5f, 1e-6f);
    ck_assert_float_eq_tol(logits[1], 0, 1e-6f);
}
END_TEST

/* ---- the network ---- */

enum { IMAGES = 3 };
static struct network network;
static struct network_batch batch;
static float pixels[IMAGES * IMAGE_PIXELS];

static void make_network(void)
{
    static const unsigned char labels[IMAGES] = { 0, 9, 4 };
    static const uint64_t draws[IMAGES] = { 12, 7, 3 };
    fill(pixels, IMAGES * IMAGE_PIXELS, 5);
    ck_assert_int_eq(network_init(&network, IMAGES), 0);
    network_randomize(&network, 1, 0);
    batch = (struct network_batch){ .pixels = pixels,
                                    .labels = labels,
                                    .count = IMAGES,
                                    .dropout = true,
                                    .seed = 5,
                                    .draws = draws };
}

/* Where a tensor begins in the vectors; that of NETWORK_TENSORS is their end. */
static size_t begin_of(int tensor)
{
    if (tensor == NETWORK_TENSORS)
        return network.parameter_count;
    return (size_t)((float *)network.tensors[tensor].data - network.parameter_values);
}

static void nothing_to_do(void *arg, int tensor)
{
    (void)arg, (void)tensor;
}

static double network_loss(void)
{
    return network_learn(&network, &batch, nothing_to_do, NULL);
}

/* The steepest parameter of each tensor, where the numerical slope is surest. It is not exact: a
 * change of a convolution's weight takes some pixel over the kink of a ReLU. */
START_TEST(the_network_has_the_gradient_it_claims)
{
    make_network();
    network_loss();
    float *claimed = malloc(network.parameter_count * sizeof *claimed);
    memcpy(claimed, network.gradient_values, network.parameter_count * sizeof *claimed);
    for (int i = 0; i < NETWORK_TENSORS; i++) {
        size_t steepest = begin_of(i);
        for (size_t k = begin_of(i); k < begin_of(i + 1); k++)
            steepest = fabsf(claimed[k]) > fabsf(claimed[steepest]) ? k : steepest;
        double slope = slope_at(network.parameter_values + steepest, 0x1p-11f, network_loss);
        ck_assert_double_eq_tol((double)claimed[steepest], slope, 0.03 * fabs(slope));
    }
    free(claimed);
    network_fini(&network);
}
END_TEST

static struct {
    float *values; /* each gradient as it was when it was ready */
    int order[NETWORK_TENSORS], count;
} seen;

static void note(void *arg, int tensor)
{
    ck_assert_ptr_eq(arg, &seen);
    size_t begin = begin_of(tensor), end = begin_of(tensor + 1);
    seen.order[seen.count++] = tensor;
    memcpy(seen.values + begin, network.gradient_values + begin, (end - begin) * sizeof(float));
}

START_TEST(a_gradient_that_is_ready_is_complete)
{
    make_network();
    seen.values = malloc(network.parameter_count * sizeof(float));
    network_learn(&network, &batch, note, &seen);
    ck_assert_int_eq(seen.count, NETWORK_TENSORS);
    for (int i = 0; i < NETWORK_TENSORS; i++)
        ck_assert_int_eq(seen.order[i], NETWORK_TENSORS - 1 - i);
    ck_assert_mem_eq(seen.values, network.gradient_values, network.parameter_count * sizeof(float));
    free(seen.values);
    network_fini(&network);
}
END_TEST

/* The mask goes with the image: alone, the second image has the loss it has among the others. */
START_TEST(an_image_keeps_its_dropout_mask_wherever_it_is)
{
    make_network();
    double together = network_loss() * IMAGES;
    double apart = 0;
    struct network_batch all = batch;
    for (int i = IMAGES - 1; i >= 0; i--) {
        batch.pixels = all.pixels + i * IMAGE_PIXELS;
        batch.labels = all.labels + i;
        batch.draws = all.draws + i;
        batch.count = 1;
        apart += network_loss();
    }
    ck_assert_double_eq_tol(together, apart, 1e-4);
    network_fini(&network);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        convolution_has_the_gradient_it_claims, convolution_is_the_sum_over_the_kernel,
        gradients_of_several_images_add_up,     dense_has_the_gradient_it_claims,
        relu_has_the_gradient_it_claims,        maxpool_has_the_gradient_it_claims,
        among_equals_the_first_wins_alone,      dropout_drops_its_share_and_keeps_the_sum,
        dropout_repeats_with_the_same_stream,   softmax_cross_entropy_has_the_gradient_it_claims,
        softmax_of_huge_logits_stays_finite,    the_network_has_the_gradient_it_claims,
        a_gradient_that_is_ready_is_complete,   an_image_keeps_its_dropout_mask_wherever_it_is,
    };
    Suite *suite = suite_create("example_layers");
    TCase *cases = tcase_create("layers");
    tcase_add_checked_fixture(cases, set_up, NULL);
    tcase_set_timeout(cases, 60);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(cases, tests[i]);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
