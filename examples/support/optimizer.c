/* SPDX-License-Identifier: Apache-2.0 */
/* Adam (Kingma, Ba) and stochastic gradient descent. Only optimizer_init() can fail, for want of
 * memory. Every rank makes the same step from the same averaged gradient, with the same bits. */
#include "examples/support/optimizer.h"

#include <math.h>
#include <stdlib.h>

static const double beta_mean = 0.9, beta_variance = 0.999;

int optimizer_init(struct optimizer *optimizer, enum optimizer_kind kind, size_t count)
{
    *optimizer = (struct optimizer){ .kind = kind, .count = count };
    if (kind == OPTIMIZER_SGD)
        return 0;
    optimizer->mean = calloc(count, sizeof *optimizer->mean);
    optimizer->variance = calloc(count, sizeof *optimizer->variance);
    return optimizer->mean && optimizer->variance ? 0 : -1;
}

static void adam_step(struct optimizer *adam, float *restrict parameters,
                      const float *restrict gradients)
{
    double step = (double)adam->steps;
    float rate = (float)(adam->learning_rate * sqrt(1 - pow(beta_variance, step)) /
                         (1 - pow(beta_mean, step)));
    float keep_mean = (float)beta_mean, keep_variance = (float)beta_variance;
    float *restrict mean = adam->mean, *restrict variance = adam->variance;
    for (size_t i = 0; i < adam->count; i++) {
        float gradient = gradients[i];
        mean[i] += (gradient - mean[i]) * (1 - keep_mean);
        variance[i] += (gradient * gradient - variance[i]) * (1 - keep_variance);
        parameters[i] -= rate * mean[i] / (sqrtf(variance[i]) + 1e-7f);
    }
}

static void sgd_step(const struct optimizer *sgd, float *restrict parameters,
                     const float *restrict gradients)
{
    float rate = (float)sgd->learning_rate;
    for (size_t i = 0; i < sgd->count; i++)
        parameters[i] -= rate * gradients[i];
}

void optimizer_step(struct optimizer *optimizer, float *parameters, const float *gradients)
{
    optimizer->steps++;
    if (optimizer->kind == OPTIMIZER_ADAM)
        adam_step(optimizer, parameters, gradients);
    else
        sgd_step(optimizer, parameters, gradients);
}

void optimizer_fini(struct optimizer *optimizer)
{
    free(optimizer->mean);
    free(optimizer->variance);
    *optimizer = (struct optimizer){ 0 };
}
