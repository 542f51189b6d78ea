/* SPDX-License-Identifier: Apache-2.0 */
/* Drawing the networks as lines through the exact solution at the points of training: data-parallel
 * one network, which all ranks have; of an ensemble those of the first ranks with a colour each,
 * and the rest as one.
 *
 * Fails when out of memory, when the file cannot be written, and in gathering when another rank is
 * lost. */
#include "examples/fit_curves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/support/agreement.h"
#include "examples/support/plot.h"

enum { NETWORKS = 7 };

/* What follows from a rank's number: the x of its curve, and its samples. */
static void place_rank(struct fit_curves *curves, const struct fit *fit, int rank)
{
    const struct fit_equation *equation = fit->equation;
    struct fit_place place = fit_place_for(fit->place.mode, equation->in_parts, rank, curves->size);
    double *x = curves->x + (size_t)rank * curves->stride;
    double *sample_x = curves->sample_x + (size_t)rank * fit->points;
    double *sample_y = curves->sample_y + (size_t)rank * fit->points;
    interval_spread(&place.domain, equation->compared, x);
    x[equation->compared] = NAN;
    fit_place_points(&place, fit->points, sample_x);
    for (size_t i = 0; i < fit->points; i++)
        sample_y[i] = equation->exact(&place, sample_x[i]);
}

int fit_curves_init(struct fit_curves *curves, const struct fit *fit)
{
    size_t size = (size_t)fit->place.size, stride = fit->equation->compared + 1;
    *curves = (struct fit_curves){ .size = fit->place.size,
                                   .stride = stride,
                                   .samples = size * fit->points };
    curves->memory = calloc(2 * size, (stride + fit->points) * sizeof *curves->memory);
    if (curves->memory == NULL)
        return -1;
    curves->x = curves->memory;
    curves->solution = curves->x + size * stride;
    curves->sample_x = curves->solution + size * stride;
    curves->sample_y = curves->sample_x + curves->samples;
    for (int rank = 0; rank < curves->size; rank++)
        place_rank(curves, fit, rank);
    return 0;
}

void fit_curves_fini(struct fit_curves *curves)
{
    free(curves->memory);
    *curves = (struct fit_curves){ 0 };
}

int fit_curves_gather(struct fit_curves *curves, int rank, struct problem *problem)
{
    const double *own = curves->solution + (size_t)rank * curves->stride;
    if (hvd_allgather("solutions", own, curves->solution, curves->stride, HVD_FLOAT64) != HVD_OK)
        return problem_from_hvd(problem, "gathering the solutions");
    return 0;
}

/* Of `ranks` ranks, from `first` on. */
static struct plot_curve network_curve(const struct fit_curves *curves, int first, int ranks,
                                       const char *label)
{
    size_t begin = (size_t)first * curves->stride;
    return (struct plot_curve){ .label = label,
                                .x = curves->x + begin,
                                .y = curves->solution + begin,
                                .count = (size_t)ranks * curves->stride };
}

/* Returns how many lines there are. */
static int network_curves(const struct fit_curves *curves, enum fit_mode mode,
                          struct plot_curve lines[NETWORKS], char labels[NETWORKS][40])
{
    if (mode == FIT_DATA_PARALLEL) {
        lines[0] = network_curve(curves, 0, 1, "network of all ranks");
        return 1;
    }
    int shown = curves->size < NETWORKS ? curves->size : NETWORKS;
    for (int i = 0; i < shown; i++) {
        int ranks = i == NETWORKS - 1 ? curves->size - i : 1;
        snprintf(labels[i], sizeof labels[i], "network of rank %d%s", i, ranks > 1 ? " etc." : "");
        lines[i] = network_curve(curves, i, ranks, labels[i]);
    }
    return shown;
}

int fit_curves_plot(const struct fit_curves *curves, const struct fit *fit, struct problem *problem)
{
    char labels[NETWORKS][40], title[100];
    struct plot_curve lines[1 + NETWORKS];
    lines[0] = (struct plot_curve){ .label = "exact, at the points of training",
                                    .x = curves->sample_x,
                                    .y = curves->sample_y,
                                    .count = curves->samples,
                                    .points = true };
    int networks = network_curves(curves, fit->place.mode, lines + 1, labels);
    snprintf(title, sizeof title, "%s, %s, %d rank%s", fit->equation->program,
             fit_mode_name(fit->place.mode), curves->size, curves->size == 1 ? "" : "s");
    struct plot plot = { .title = title,
                         .x_label = "x",
                         .y_label = "u(x)",
                         .curves = lines,
                         .curve_count = 1 + (size_t)networks };
    return plot_write(fit->options->plot, &plot, problem);
}
