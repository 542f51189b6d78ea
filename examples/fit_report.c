/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing the networks with the exact solution:
 *
 *   each rank evaluates its own from end to end of its domain; rank 0 gets the errors of all, and
 *   for a plot their curves; table, plot, checkpoint; are the ranks identical; result line.
 *
 * Fails when out of memory, when plot, checkpoint or standard output cannot be written, and when
 * another rank is lost. Ranks that are not identical are a result, and status 1. */
#include "examples/fit_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/fit_curves.h"
#include "examples/support/agreement.h"
#include "examples/support/program.h"
#include "examples/support/result.h"
#include "hvd_training.h"

/* Evaluates this rank's network, and returns its error: the L2 norm of what it is away from the
 * exact solution, relative to that of the solution. */
static double compare(struct fit *fit, struct fit_curves *curves)
{
    size_t begin = (size_t)fit->place.rank * curves->stride;
    const double *x = curves->x + begin;
    double *solution = curves->solution + begin, away = 0, size = 0;
    mlp_forward(&fit->mlp, x, fit->equation->compared);
    for (size_t i = 0; i < fit->equation->compared; i++) {
        double exact = fit->equation->exact(&fit->place, x[i]);
        solution[i] = fit->equation->solution(x[i], fit->mlp.u[0][i]);
        away += (solution[i] - exact) * (solution[i] - exact);
        size += exact * exact;
    }
    return sqrt(away / size);
}

static void print_table(const struct fit *fit, const double *errors)
{
    if (!program_prints() || fit->options->quiet)
        return;
    printf("rank  points in        error on         relative L2  exact solution\n");
    for (int rank = 0; rank < fit->place.size; rank++) {
        struct fit_place place =
            fit_place_for(fit->place.mode, fit->equation->in_parts, rank, fit->place.size);
        printf("%4d  [%5.2f, %5.2f]  [%5.2f, %5.2f]  %11.2e  %s\n", rank, place.points.low,
               place.points.high, place.domain.low, place.domain.high, errors[rank],
               fit->equation->formula(&place));
    }
}

static int write_checkpoint(const struct fit *fit, struct problem *problem)
{
    struct hvd_checkpoint checkpoint = { .tensors = fit->mlp.tensors,
                                         .ntensors = fit->mlp.tensor_count };
    if (fit->options->checkpoint == NULL)
        return 0;
    if (hvd_checkpoint_save(fit->options->checkpoint, &checkpoint, 0) != HVD_OK)
        return problem_set(problem, EXIT_STATUS_DATA, "%s", hvd_last_error());
    return 0;
}

/* The largest of all ranks; a training that has gone astray may have left none that is a number. */
static double largest(const double *errors, int size)
{
    double error = 0;
    for (int rank = 0; rank < size; rank++)
        if (!(errors[rank] <= error))
            error = errors[rank];
    return error;
}

/* The last line, for scripts. Returns the status to exit with. */
static int print_result(const struct fit *fit, const double *errors, struct problem *problem)
{
    const struct mlp *mlp = &fit->mlp;
    bool together = fit->place.mode == FIT_DATA_PARALLEL;
    int64_t bytes_sent = fit->bytes_sent;
    int identical = 1;
    if (hvd_allreduce("bytes_sent", &bytes_sent, &bytes_sent, 1, HVD_INT64, HVD_SUM) != HVD_OK)
        return problem_from_hvd(problem, "adding up what has been sent");
    if (together)
        identical = agree_on_bytes(mlp->parameters, mlp->parameter_count * sizeof(double), problem);
    if (identical < 0)
        return -1;
    struct result result;
    result_begin(&result);
    result_integer(&result, "ranks", fit->place.size);
    result_text(&result, "mode", fit_mode_name(fit->place.mode));
    result_real(&result, "error", "%.2e", largest(errors, fit->place.size));
    if (together)
        result_yes_no(&result, "identical", identical == 1);
    result_integer(&result, "bytes_sent", bytes_sent);
    result_print(&result);
    program_flush(problem);
    int status = agree_to_go_on(fit->equation->program, problem);
    return status != 0 ? status : identical == 0;
}

static int report(struct fit *fit, struct fit_curves *curves, double *errors,
                  struct problem *problem)
{
    double error = compare(fit, curves);
    if (hvd_allgather("errors", &error, errors, 1, HVD_FLOAT64) != HVD_OK)
        return problem_from_hvd(problem, "gathering the errors");
    print_table(fit, errors);
    if (fit->options->plot != NULL && fit_curves_gather(curves, fit->place.rank, problem) < 0)
        return -1;
    if (fit->options->plot != NULL && program_prints())
        fit_curves_plot(curves, fit, problem);
    write_checkpoint(fit, problem);
    int status = agree_to_go_on(fit->equation->program, problem);
    return status != 0 ? status : print_result(fit, errors, problem);
}

int fit_report(struct fit *fit, struct problem *problem)
{
    struct fit_curves curves;
    double *errors = calloc((size_t)fit->place.size, sizeof *errors);
    if (fit_curves_init(&curves, fit) < 0 || errors == NULL)
        problem_nomem(problem);
    int status = agree_to_go_on(fit->equation->program, problem);
    if (status == 0)
        status = report(fit, &curves, errors, problem);
    fit_curves_fini(&curves);
    free(errors);
    return status;
}
