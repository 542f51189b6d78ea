/* SPDX-License-Identifier: Apache-2.0 */
/* The small network of the examples: its derivatives by x, and the gradients of losses made of
 * them, against central differences and against a network whose formula is written out; how it
 * begins; and Adam against numbers worked out by hand. */
#include "tests/support/unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "examples/support/adam.h"
#include "examples/support/mlp.h"

enum { POINTS = 5 };
static const double x[POINTS] = { -1, -0.3, 0, 0.55, 1 };

static const struct mlp_shape shapes[] = {
    { .hidden_layers = 1, .width = 1, .order = 2, .points = POINTS, .scale = 1 },
    { .hidden_layers = 1, .width = 5, .order = 0, .points = POINTS, .scale = 1, .spread = 1 },
    { .hidden_layers = 2, .width = 4, .order = 0, .points = POINTS, .scale = 3, .spread = 1 },
    { .hidden_layers = 2, .width = 3, .order = 1, .points = POINTS, .scale = 2, .center = 0.5 },
    { .hidden_layers = 2, .width = 6, .order = 2, .points = POINTS + 3, .scale = 1.5, .spread = 1 },
    { .hidden_layers = 4, .width = 3, .order = 2, .points = POINTS, .scale = 2, .center = -0.25 },
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A network whose biases are not 0 anywhere. */
static void init(struct mlp *mlp, const struct mlp_shape *shape)
{
    ck_assert_int_eq(mlp_init(mlp, shape), 0);
    mlp_randomize(mlp, 7, 0);
    for (size_t i = 0; i < mlp->parameter_count; i++)
        mlp->parameters[i] += 0.1 * sin((double)i + 1);
}

/* A loss in which every value and derivative has its own part: the sum of weight x u + u^2. */
static double loss(struct mlp *mlp)
{
    double sum = 0;
    mlp_forward(mlp, x, POINTS);
    for (int k = 0; k <= mlp->shape.order; k++) {
        for (int p = 0; p < POINTS; p++) {
            double u = mlp->u[k][p], weight = cos(3 * p + k);
            sum += weight * u + u * u;
            mlp->d_u[k][p] = weight + 2 * u;
        }
    }
    return sum;
}

START_TEST(gradients_are_those_of_central_differences)
{
    struct mlp mlp;
    init(&mlp, &shapes[_i]);
    loss(&mlp);
    for (int layer = mlp.layer_count - 1; layer >= 0; layer--)
        mlp_backward(&mlp, layer);
    for (size_t i = 0; i < mlp.parameter_count; i++) {
        const double step = 1e-5;
        double value = mlp.parameters[i], gradient = mlp.gradients[i];
        mlp.parameters[i] = value + step;
        double above = loss(&mlp);
        mlp.parameters[i] = value - step;
        double below = loss(&mlp);
        mlp.parameters[i] = value;
        ck_assert_double_eq_tol(gradient, (above - below) / (2 * step),
                                1e-7 * (1 + fabs(gradient)));
    }
    mlp_fini(&mlp);
}
END_TEST

START_TEST(derivatives_are_those_of_central_differences)
{
    const double step = 1e-4;
    const double around[3] = { 0.4 - step, 0.4, 0.4 + step };
    struct mlp mlp;
    init(&mlp, &shapes[_i]);
    mlp_forward(&mlp, around, 3);
    const double *u = mlp.u[0];
    if (mlp.shape.order >= 1)
        ck_assert_double_eq_tol(mlp.u[1][1], (u[2] - u[0]) / (2 * step), 1e-6);
    if (mlp.shape.order >= 2)
        ck_assert_double_eq_tol(mlp.u[2][1], (u[2] - 2 * u[1] + u[0]) / (step * step), 1e-5);
    mlp_fini(&mlp);
}
END_TEST

START_TEST(one_unit_is_what_its_formula_says)
{
    /* u = 3 tanh(0.5 (2 (x - 0.25)) - 0.75) + 0.125 */
    const double parameters[4] = { 0.5, -0.75, 3, 0.125 };
    struct mlp mlp;
    init(&mlp, &(struct mlp_shape){ .hidden_layers = 1,
                                    .width = 1,
                                    .order = 2,
                                    .points = POINTS,
                                    .center = 0.25,
                                    .scale = 2 });
    memcpy(mlp.parameters, parameters, sizeof parameters);
    mlp_forward(&mlp, x, POINTS);
    for (int p = 0; p < POINTS; p++) {
        double t = tanh(x[p] - 1), slope = 1 - t * t;
        ck_assert_double_eq_tol(mlp.u[0][p], 3 * t + 0.125, 1e-14);
        ck_assert_double_eq_tol(mlp.u[1][p], 3 * slope, 1e-14);
        ck_assert_double_eq_tol(mlp.u[2][p], -6 * t * slope, 1e-14);
    }
    mlp_fini(&mlp);
}
END_TEST

START_TEST(points_are_independent_of_each_other)
{
    struct mlp all, single;
    init(&all, &shapes[4]);
    init(&single, &shapes[4]);
    mlp_forward(&all, x, POINTS);
    for (int p = 0; p < POINTS; p++) {
        mlp_forward(&single, x + p, 1);
        for (int k = 0; k < MLP_ORDERS; k++)
            ck_assert(all.u[k][p] == single.u[k][0]);
    }
    mlp_fini(&all);
    mlp_fini(&single);
}
END_TEST

START_TEST(the_tensors_are_all_parameters_in_order)
{
    struct mlp mlp;
    init(&mlp, &shapes[4]);
    static const char *const names[] = { "layer1.weight", "layer1.bias",   "layer2.weight",
                                         "layer2.bias",   "layer3.weight", "layer3.bias" };
    const size_t counts[] = { 6, 6, 36, 6, 6, 1 };
    size_t at = 0;
    ck_assert_int_eq(mlp.tensor_count, 6);
    for (int i = 0; i < mlp.tensor_count; i++) {
        const struct hvd_parameter *tensor = &mlp.tensors[i];
        ck_assert_str_eq(tensor->name, names[i]);
        ck_assert_ptr_eq(tensor->data, mlp.parameters + at);
        ck_assert_ptr_eq(tensor->gradient, mlp.gradients + at);
        size_t count = 1;
        for (int k = 0; k < tensor->ndims; k++)
            count *= (size_t)tensor->dims[k];
        ck_assert_uint_eq(count, counts[i]);
        at += count;
    }
    ck_assert_uint_eq(at, mlp.parameter_count);
    mlp_fini(&mlp);
}
END_TEST

START_TEST(initial_weights_are_glorots_and_the_first_biases_spread)
{
    struct mlp_shape shape = { .hidden_layers = 2, .width = 16, .points = 1, .spread = 2 };
    struct mlp mlp, again, other;
    ck_assert_int_eq(mlp_init(&mlp, &shape), 0);
    ck_assert_int_eq(mlp_init(&again, &shape), 0);
    ck_assert_int_eq(mlp_init(&other, &shape), 0);
    mlp_randomize(&mlp, 1, 0);
    mlp_randomize(&again, 1, 0);
    mlp_randomize(&other, 1, 1);
    size_t size = mlp.parameter_count * sizeof(double);
    ck_assert_mem_eq(mlp.parameters, again.parameters, size);
    ck_assert_int_ne(memcmp(mlp.parameters, other.parameters, size), 0);
    double largest = 0, sum = 0, bias = 0;
    for (int i = 0; i < 16 * 16; i++) {
        largest = fmax(largest, fabs(mlp.layers[1].weight[i]));
        sum += mlp.layers[1].weight[i];
    }
    ck_assert_double_le(largest, sqrt(6.0 / 32));
    ck_assert_double_ge(largest, 0.9 * sqrt(6.0 / 32));
    ck_assert_double_le(fabs(sum), 16);
    for (int i = 0; i < 16; i++) {
        bias = fmax(bias, fabs(mlp.layers[0].bias[i]));
        ck_assert(mlp.layers[1].bias[i] == 0);
    }
    ck_assert(bias > 1 && bias <= 2);
    mlp_fini(&mlp);
    mlp_fini(&again);
    mlp_fini(&other);
}
END_TEST

START_TEST(adam_steps_as_worked_out_by_hand)
{
    struct adam adam;
    double parameter = 1;
    const double first = 0.5, second = -0.25;
    ck_assert_int_eq(adam_init(&adam, 1), 0);
    adam_step(&adam, &parameter, &first, 0.1); /* the first step is the rate long */
    ck_assert_double_eq_tol(parameter, 0.9, 1e-7);
    adam_step(&adam, &parameter, &second, 0.1);
    /* mean 0.02 / 0.19; mean of the square 0.00031225 / 0.001999, the root of which is 0.3952223 */
    ck_assert_double_eq_tol(parameter, 0.9 - 0.1 * 0.1052632 / 0.3952223, 1e-6);
    adam_fini(&adam);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("example_mlp");
    TCase *cases = tcase_create("mlp");
    tcase_add_loop_test(cases, gradients_are_those_of_central_differences, 0, SHAPES);
    tcase_add_loop_test(cases, derivatives_are_those_of_central_differences, 0, SHAPES);
    tcase_add_test(cases, one_unit_is_what_its_formula_says);
    tcase_add_test(cases, points_are_independent_of_each_other);
    tcase_add_test(cases, the_tensors_are_all_parameters_in_order);
    tcase_add_test(cases, initial_weights_are_glorots_and_the_first_biases_spread);
    tcase_add_test(cases, adam_steps_as_worked_out_by_hand);
    suite_add_tcase(suite, cases);
    return unit_run(suite);
}
