/* SPDX-License-Identifier: Apache-2.0 */
/* The network as layers that carry a value and its derivatives by x together. A linear layer does
 * the same to each of them, but for the bias, which has no derivative. With t = tanh z and its
 * slope s = 1 - t^2,
 *
 *     t' = s z'      t'' = s z'' - 2 t s z'^2
 *
 * and backwards, where d_ is the gradient of the loss:
 *
 *     d_z'' = s d_t''
 *     d_z'  = s d_t' - 4 t s z' d_t''
 *     d_z   = s d_t - 2 t s z' d_t' - (2 t s z'' + 2 s (1 - 3 t^2) z'^2) d_t''
 *
 * Fails when out of memory, in mlp_init() alone. */
#include "examples/support/mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/support/random.h"

static const char *const names[] = {
    "layer1.weight", "layer1.bias",   "layer2.weight", "layer2.bias",   "layer3.weight",
    "layer3.bias",   "layer4.weight", "layer4.bias",   "layer5.weight", "layer5.bias",
};

static void describe_tensors(struct mlp *mlp, int i)
{
    struct mlp_layer *layer = &mlp->layers[i];
    int64_t *dims = mlp->dims[i];
    dims[0] = layer->inputs;
    dims[1] = layer->outputs;
    mlp->tensors[2 * i] = (struct hvd_parameter){ .name = names[2 * i],
                                                  .data = layer->weight,
                                                  .gradient = layer->d_weight,
                                                  .dtype = HVD_FLOAT64,
                                                  .ndims = 2,
                                                  .dims = dims };
    mlp->tensors[2 * i + 1] = (struct hvd_parameter){ .name = names[2 * i + 1],
                                                      .data = layer->bias,
                                                      .gradient = layer->d_bias,
                                                      .dtype = HVD_FLOAT64,
                                                      .ndims = 1,
                                                      .dims = dims + 1 };
}

/* Gives the layers their places in the vectors of parameters and gradients, if these are there, and
 * counts the parameters. */
static void place_parameters(struct mlp *mlp)
{
    size_t at = 0;
    for (int i = 0; i < mlp->layer_count; i++) {
        struct mlp_layer *layer = &mlp->layers[i];
        size_t weights = (size_t)layer->inputs * (size_t)layer->outputs;
        if (mlp->parameters != NULL) {
            layer->weight = mlp->parameters + at;
            layer->d_weight = mlp->gradients + at;
            layer->bias = layer->weight + weights;
            layer->d_bias = layer->d_weight + weights;
            describe_tensors(mlp, i);
        }
        at += weights + (size_t)layer->outputs;
    }
    mlp->parameter_count = at;
}

/* Memory for one number of each point, unit and order. */
static void take(double *arrays[MLP_ORDERS], double **memory, size_t count)
{
    for (int k = 0; k < MLP_ORDERS; k++) {
        arrays[k] = *memory;
        *memory += count;
    }
}

static void place_values(struct mlp *mlp)
{
    double *memory = mlp->memory;
    for (int i = 0; i < mlp->layer_count; i++) {
        struct mlp_layer *layer = &mlp->layers[i];
        take(layer->input, &memory, mlp->shape.points * (size_t)layer->inputs);
        take(layer->sum, &memory, mlp->shape.points * (size_t)layer->outputs);
    }
    take(mlp->d_sum, &memory, mlp->shape.points * (size_t)mlp->shape.width);
    take(mlp->d_input, &memory, mlp->shape.points * (size_t)mlp->shape.width);
    memcpy(mlp->u, mlp->layers[mlp->layer_count - 1].sum, sizeof mlp->u);
    memcpy(mlp->d_u, mlp->d_sum, sizeof mlp->d_u);
}

int mlp_init(struct mlp *mlp, const struct mlp_shape *shape)
{
    *mlp = (struct mlp){ .shape = *shape };
    mlp->layer_count = shape->hidden_layers + 1;
    mlp->tensor_count = 2 * mlp->layer_count;
    for (int i = 0; i < mlp->layer_count; i++) {
        mlp->layers[i].inputs = i == 0 ? 1 : shape->width;
        mlp->layers[i].outputs = i == mlp->layer_count - 1 ? 1 : shape->width;
    }
    place_parameters(mlp);
    size_t units = 2 * (size_t)mlp->layer_count + 2; /* arrays, none wider than the layers */
    mlp->parameters = calloc(mlp->parameter_count, sizeof *mlp->parameters);
    mlp->gradients = calloc(mlp->parameter_count, sizeof *mlp->gradients);
    mlp->memory = calloc(units * shape->points * MLP_ORDERS, (size_t)shape->width * sizeof(double));
    if (mlp->parameters == NULL || mlp->gradients == NULL || mlp->memory == NULL) {
        mlp_fini(mlp);
        return -1;
    }
    place_parameters(mlp);
    place_values(mlp);
    return 0;
}

void mlp_fini(struct mlp *mlp)
{
    free(mlp->parameters);
    free(mlp->gradients);
    free(mlp->memory);
    *mlp = (struct mlp){ 0 };
}

static void draw(struct random_stream *stream, double limit, double *values, int count)
{
    for (int i = 0; i < count; i++)
        values[i] = (double)random_uniform(stream, (float)-limit, (float)limit);
}

void mlp_randomize(struct mlp *mlp, uint64_t seed, uint64_t index)
{
    struct random_stream stream;
    random_start(&stream, seed, RANDOM_INITIAL, index);
    for (int i = 0; i < mlp->layer_count; i++) {
        struct mlp_layer *layer = &mlp->layers[i];
        double limit = sqrt(6.0 / (layer->inputs + layer->outputs));
        draw(&stream, limit, layer->weight, layer->inputs * layer->outputs);
        draw(&stream, i == 0 ? mlp->shape.spread : 0, layer->bias, layer->outputs);
    }
}

/* sum = input * weight, for a row; sum has been begun. */
static void multiply(const struct mlp_layer *layer, const double *restrict input,
                     double *restrict sum)
{
    for (int i = 0; i < layer->inputs; i++)
        for (int j = 0; j < layer->outputs; j++)
            sum[j] += input[i] * layer->weight[i * layer->outputs + j];
}

static void linear_forward(const struct mlp_layer *layer, int order, size_t points)
{
    size_t row = (size_t)layer->outputs * sizeof(double);
    for (int k = 0; k <= order; k++) {
        for (size_t p = 0; p < points; p++) {
            double *sum = layer->sum[k] + p * (size_t)layer->outputs;
            if (k == 0)
                memcpy(sum, layer->bias, row);
            else
                memset(sum, 0, row);
            multiply(layer, layer->input[k] + p * (size_t)layer->inputs, sum);
        }
    }
}

static void tanh_forward(double *const z[], double *const t[], int order, size_t count)
{
    for (size_t i = 0; i < count; i++)
        t[0][i] = tanh(z[0][i]);
    for (size_t i = 0; i < count && order >= 1; i++)
        t[1][i] = (1 - t[0][i] * t[0][i]) * z[1][i];
    for (size_t i = 0; i < count && order >= 2; i++) {
        double slope = 1 - t[0][i] * t[0][i];
        t[2][i] = slope * (z[2][i] - 2 * t[0][i] * z[1][i] * z[1][i]);
    }
}

void mlp_forward(struct mlp *mlp, const double *x, size_t points)
{
    mlp->points = points;
    for (size_t p = 0; p < points; p++) {
        mlp->layers[0].input[0][p] = mlp->shape.scale * (x[p] - mlp->shape.center);
        mlp->layers[0].input[1][p] = mlp->shape.scale;
        mlp->layers[0].input[2][p] = 0;
    }
    for (int i = 0; i < mlp->layer_count; i++) {
        struct mlp_layer *layer = &mlp->layers[i];
        linear_forward(layer, mlp->shape.order, points);
        if (i + 1 < mlp->layer_count)
            tanh_forward(layer->sum, mlp->layers[i + 1].input, mlp->shape.order,
                         points * (size_t)layer->outputs);
    }
}

/* In place: on entry `d` are the gradients by t and its derivatives, on return those by z. */
static void tanh_backward(double *const z[], double *const t[], double *const d[], int order,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double value = t[0][i], slope = 1 - value * value;
        d[0][i] *= slope;
        if (order >= 1) {
            d[0][i] -= 2 * value * slope * z[1][i] * d[1][i];
            d[1][i] *= slope;
        }
        if (order >= 2) {
            double square = z[1][i] * z[1][i];
            d[0][i] -= 2 * slope * (value * z[2][i] + (1 - 3 * value * value) * square) * d[2][i];
            d[1][i] -= 4 * value * slope * z[1][i] * d[2][i];
            d[2][i] *= slope;
        }
    }
}

/* What one row adds to the gradient of the weights, and the gradient by the row's input. */
static void multiply_backward(const struct mlp_layer *layer, const double *restrict input,
                              const double *restrict d_sum, double *restrict d_input)
{
    for (int i = 0; i < layer->inputs; i++) {
        const double *weight = layer->weight + i * layer->outputs;
        double *d_weight = layer->d_weight + i * layer->outputs, sum = 0;
        for (int j = 0; j < layer->outputs; j++) {
            d_weight[j] += input[i] * d_sum[j];
            sum += weight[j] * d_sum[j];
        }
        d_input[i] = sum;
    }
}

static void linear_backward(const struct mlp *mlp, const struct mlp_layer *layer)
{
    size_t inputs = (size_t)layer->inputs, outputs = (size_t)layer->outputs;
    memset(layer->d_weight, 0, inputs * outputs * sizeof(double));
    memset(layer->d_bias, 0, outputs * sizeof(double));
    for (size_t p = 0; p < mlp->points; p++)
        for (size_t j = 0; j < outputs; j++)
            layer->d_bias[j] += mlp->d_sum[0][p * outputs + j];
    for (int k = 0; k <= mlp->shape.order; k++)
        for (size_t p = 0; p < mlp->points; p++)
            multiply_backward(layer, layer->input[k] + p * inputs, mlp->d_sum[k] + p * outputs,
                              mlp->d_input[k] + p * inputs);
}

void mlp_backward(struct mlp *mlp, int layer)
{
    size_t count = mlp->points * (size_t)mlp->layers[layer].outputs;
    if (layer + 1 < mlp->layer_count)
        tanh_backward(mlp->layers[layer].sum, mlp->layers[layer + 1].input, mlp->d_sum,
                      mlp->shape.order, count);
    linear_backward(mlp, &mlp->layers[layer]);
    for (int k = 0; k <= mlp->shape.order; k++)
        memcpy(mlp->d_sum[k], mlp->d_input[k],
               mlp->points * (size_t)mlp->layers[layer].inputs * sizeof(double));
}
