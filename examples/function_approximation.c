/* SPDX-License-Identifier: Apache-2.0 */
/* Approximating a function by a network, from samples that lie on several ranks:
 *
 *     hvdrun -np 2 -H localhost:2 examples/function_approximation --plot fit.svg
 *
 * y = sin(2 pi x) + sin(4 pi x) on [-1, 1]. Of n ranks, each holds samples from one n-th of the
 * interval: none could learn the whole alone. Data-parallel they train one model for all of it; as
 * an ensemble (--mode ensemble) each trains its own for its own part, without a word to the others.
 * What is done is in fit.c, and the calls of the library in fit_training.c. */
#include <math.h>

#include "examples/fit.h"

static double sum_of_sines(const struct fit_place *place, double x)
{
    (void)place; /* each has a part of the same function */
    return sin(2 * M_PI * x) + sin(4 * M_PI * x);
}

static const char *formula(const struct fit_place *place)
{
    (void)place;
    return "sin(2 pi x) + sin(4 pi x)";
}

static double residual(const struct fit_place *place, double x, const double n[MLP_ORDERS],
                       double d_n[MLP_ORDERS])
{
    d_n[0] = 1;
    return n[0] - sum_of_sines(place, x);
}

static double solution(double x, double n)
{
    (void)x; /* the network is the solution */
    return n;
}

/* What the numbers are for. A period of the faster sine has 8 samples, and what the network does
 * between them is left to it: that is where the error is, not at the samples. The network is
 * smoothest when its tanh bend in many places. With Glorot's start alone all of them bend in the
 * middle of the domain; biases spread over +-2 and an input of +-8 put the bends all along it. The
 * rate is large enough to find the fast sine from any start, and bears being multiplied by 4;
 * falling to 2 % of itself it lets the parameters converge. An ensemble averages nothing and so has
 * no reason to multiply it. 8000 steps take less than a second. Over seeds 1 to 10, 1 to 4 ranks
 * and both modes no error was above 1.2e-2, and most are near 4e-3. */
static const struct fit_equation equation = {
    .program = "function_approximation",
    .summary = "Fits sin(2 pi x) + sin(4 pi x) on [-1, 1], alone or under hvdrun.",
    .residual = residual,
    .solution = solution,
    .exact = sum_of_sines,
    .formula = formula,
    .in_parts = true,
    .points = { [FIT_DATA_PARALLEL] = 16, [FIT_ENSEMBLE] = 16 },
    .least = 32,
    .compared = 101,
    .shape = { .hidden_layers = 2, .width = 16, .order = 0, .scale = 8, .spread = 2 },
    .steps = 8000,
    .learning_rate = 0.01,
    .decay = 0.02,
};

int main(int argc, char **argv)
{
    return fit_main(&equation, argc, argv);
}
