/* SPDX-License-Identifier: Apache-2.0 */
/* Training on this rank's points, step by step:
 *
 *   the network and its derivatives at the points; the residuals there, and the mean of their
 *   squares, which is the loss; backwards layer by layer; Adam.
 *
 * Data-parallel, rank 0's parameters are taken over first, and hvd_optimizer.h averages the
 * gradients: each layer's on its way while the layers before it are still being worked out. All
 * ranks have the same number of points, so the average of their means is the mean over all points,
 * and n ranks make the steps of one rank that has all points. An ensemble makes the same steps
 * without the library.
 *
 * Fails when out of memory, in fit_init() alone, and when another rank is lost. */
#include "examples/fit_training.h"

#include <stdlib.h>

#include "examples/support/agreement.h"
#include "hvd_training.h"

/* The network sees its domain as [-scale, scale], whichever it is. */
static struct mlp_shape network_shape(const struct fit *fit)
{
    const struct fit_equation *equation = fit->equation;
    const struct interval *domain = &fit->place.domain;
    struct mlp_shape shape = equation->shape;
    shape.center = (domain->low + domain->high) / 2;
    shape.scale *= 2 / (domain->high - domain->low);
    shape.points = fit->points > equation->compared ? fit->points : equation->compared;
    return shape;
}

int fit_init(struct fit *fit, const struct fit_options *options, struct problem *problem)
{
    int rank = hvd_rank(), size = hvd_size();
    *fit = (struct fit){
        .options = options,
        .equation = options->equation,
        .place = fit_place_for(options->mode, options->equation->in_parts, rank, size),
        .points = (size_t)fit_points(options, size),
    };
    struct mlp_shape shape = network_shape(fit);
    fit->x = malloc(fit->points * sizeof *fit->x);
    if (fit->x == NULL || mlp_init(&fit->mlp, &shape) < 0 ||
        adam_init(&fit->adam, fit->mlp.parameter_count) < 0)
        return problem_nomem(problem);
    fit_place_points(&fit->place, fit->points, fit->x);
    mlp_randomize(&fit->mlp, (uint64_t)options->seed, (uint64_t)rank);
    return 0;
}

void fit_fini(struct fit *fit)
{
    hvd_optimizer_destroy(fit->optimizer);
    adam_fini(&fit->adam);
    mlp_fini(&fit->mlp);
    free(fit->x);
}

static int update(void *arg)
{
    struct fit *fit = arg;
    adam_step(&fit->adam, fit->mlp.parameters, fit->mlp.gradients, fit->rate);
    return 0;
}

int fit_start(struct fit *fit, struct problem *problem)
{
    struct mlp *mlp = &fit->mlp;
    if (fit->place.mode == FIT_ENSEMBLE)
        return 0;
    if (hvd_optimizer_create(mlp->tensors, mlp->tensor_count, NULL, update, fit, &fit->optimizer) !=
        HVD_OK)
        return problem_from_hvd(problem, "creating the optimizer");
    if (hvd_broadcast_parameters(mlp->tensors, mlp->tensor_count, 0, 0) != HVD_OK)
        return problem_from_hvd(problem, "broadcasting the parameters");
    return 0;
}

/* It falls evenly from the first step, by the factor `decay` in all: a schedule of one epoch. */
static double learning_rate(const struct fit *fit, long step)
{
    struct hvd_rate_schedule schedule = {
        .initial = fit_learning_rate(fit->options, fit->place.size),
        .decay = fit->equation->decay,
        .smooth = 1,
    };
    struct hvd_batch batch = { .batch = step, .batches = fit->options->steps };
    return hvd_scheduled_rate(&schedule, batch);
}

/* The gradient of the loss, the mean of the residuals' squares, by what the network gives. */
static void put_loss_gradient(struct fit *fit)
{
    struct mlp *mlp = &fit->mlp;
    for (size_t p = 0; p < fit->points; p++) {
        double n[MLP_ORDERS] = { mlp->u[0][p], mlp->u[1][p], mlp->u[2][p] };
        double d_n[MLP_ORDERS] = { 0 };
        double residual = fit->equation->residual(&fit->place, fit->x[p], n, d_n);
        for (int k = 0; k < MLP_ORDERS; k++)
            mlp->d_u[k][p] = 2 * residual * d_n[k] / (double)fit->points;
    }
}

/* A layer's weight and bias have their gradients. */
static int layer_ready(struct fit *fit, int layer, struct problem *problem)
{
    if (fit->optimizer != NULL && (hvd_optimizer_ready(fit->optimizer, 2 * layer) != HVD_OK ||
                                   hvd_optimizer_ready(fit->optimizer, 2 * layer + 1) != HVD_OK))
        return problem_from_hvd(problem, "submitting the gradients");
    return 0;
}

static int train_step(struct fit *fit, long step, struct problem *problem)
{
    struct mlp *mlp = &fit->mlp;
    fit->rate = learning_rate(fit, step);
    mlp_forward(mlp, fit->x, fit->points);
    put_loss_gradient(fit);
    for (int layer = mlp->layer_count - 1; layer >= 0; layer--) {
        mlp_backward(mlp, layer);
        if (layer_ready(fit, layer, problem) < 0)
            return -1;
    }
    if (fit->optimizer == NULL)
        return update(fit);
    if (hvd_optimizer_step(fit->optimizer) != HVD_OK)
        return problem_from_hvd(problem, "averaging the gradients");
    return 0;
}

int fit_train(struct fit *fit, struct problem *problem)
{
    int64_t before = hvd_bytes_sent();
    for (long step = 0; step < fit->options->steps; step++)
        if (train_step(fit, step, problem) < 0)
            return -1;
    int64_t after = hvd_bytes_sent();
    if (before < 0 || after < 0)
        return problem_from_hvd(problem, "asking what has been sent");
    fit->bytes_sent = after - before;
    return 0;
}
