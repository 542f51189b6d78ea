/* SPDX-License-Identifier: Apache-2.0 */
/* A physics-informed network: no samples of the solution, but its differential equation.
 *
 *     hvdrun -np 2 -H localhost:2 examples/pinn --plot u.svg
 *
 * -u'' = f on [-1, 1], u(-1) = u(1) = 0. The loss is the mean of (u'' + f)^2 over some points; u''
 * comes out of the network itself by exact forward differentiation, and the gradient of the loss by
 * backpropagation through that (support/mlp.h).
 *
 * Data-parallel: f = 4 pi^2 sin(2 pi x), the points split among the ranks. As an ensemble (--mode
 * ensemble): f = pi^2 sin(pi x) on even ranks and 4 pi^2 sin(2 pi x) on odd ones, each on its own.
 * What is done is in fit.c, and the calls of the library in fit_training.c.
 *
 * The boundary is part of the form of the solution, u = (1 - x^2) n(x) with n the network: it holds
 * exactly, whatever n is, and there is no second term of the loss, whose weight would have to be
 * found, and which in a split of the points would belong to some ranks only. */
#include <math.h>

#include "examples/fit.h"

/* Of the solution, sin(k pi x). */
static int wave_number(const struct fit_place *place)
{
    return place->mode == FIT_ENSEMBLE && place->rank % 2 == 0 ? 1 : 2;
}

static double exact(const struct fit_place *place, double x)
{
    return sin(wave_number(place) * M_PI * x);
}

static const char *formula(const struct fit_place *place)
{
    return wave_number(place) == 1 ? "sin(pi x)" : "sin(2 pi x)";
}

static double solution(double x, double n)
{
    return (1 - x * x) * n;
}

/* u'' + f, where u'' = (1 - x^2) n'' - 4 x n' - 2 n. */
static double residual(const struct fit_place *place, double x, const double n[MLP_ORDERS],
                       double d_n[MLP_ORDERS])
{
    double k = wave_number(place) * M_PI;
    d_n[0] = -2;
    d_n[1] = -4 * x;
    d_n[2] = 1 - x * x;
    return d_n[2] * n[2] + d_n[1] * n[1] + d_n[0] * n[0] + k * k * sin(k * x);
}

/* The equation leaves the network no freedom between the points, as samples would, so a start near
 * Glorot's is good enough. An input of +-2, because in +-1 tanh is too straight to have a second
 * derivative worth mentioning. Biases that are not quite 0, because a network without any is odd in
 * x, and so are these solutions: the gradients of biases would be 0 but for rounding, of which Adam
 * would make steps like of any other. 3000 steps take about a second. Over seeds 1 to 10, 1 to 4
 * ranks and both modes no error was above 1.1e-3, and most are near 1e-4. */
static const struct fit_equation equation = {
    .program = "pinn",
    .summary = "Solves -u'' = f on [-1, 1] by a physics-informed network, alone or under hvdrun.",
    .residual = residual,
    .solution = solution,
    .exact = exact,
    .formula = formula,
    .points = { [FIT_DATA_PARALLEL] = 51, [FIT_ENSEMBLE] = 101 },
    .least = 101,
    .compared = 201,
    .shape = { .hidden_layers = 2, .width = 16, .order = 2, .scale = 2, .spread = 0.2 },
    .steps = 3000,
    .learning_rate = 0.015,
    .decay = 0.02,
};

int main(int argc, char **argv)
{
    return fit_main(&equation, argc, argv);
}
