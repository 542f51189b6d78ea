/* SPDX-License-Identifier: Apache-2.0 */
/* A small network that is a function u(x) of one variable, in double precision.
 *
 *     x -> scale (x - center) -> [ weight, bias, tanh ] for each hidden layer -> weight, bias -> u
 *
 * It is evaluated at many points at once, and if wanted together with its first and second
 * derivative by x. That is exact forward differentiation: each layer turns value and derivatives of
 * what goes in into those of what comes out. Backpropagation goes through all of it, so that a loss
 * may be made of u, u' and u''.
 *
 *     mlp_forward(&mlp, x, points);                          fills in mlp.u
 *     mlp.d_u[k][point] = gradient of the loss by mlp.u[k][point]
 *     for (int layer = mlp.layer_count - 1; layer >= 0; layer--)
 *         mlp_backward(&mlp, layer);                         this layer's gradients are complete */
#ifndef EXAMPLES_SUPPORT_MLP_H
#define EXAMPLES_SUPPORT_MLP_H

#include <stddef.h>
#include <stdint.h>

#include "hvd_optimizer.h"

enum { MLP_LAYERS_MAX = 5, MLP_ORDERS = 3 };

struct mlp_shape {
    int hidden_layers; /* 1 to MLP_LAYERS_MAX - 1 */
    int width;         /* of each of them */
    int order;         /* of the highest derivative wanted: 0, 1 or 2 */
    size_t points;     /* at once, at most */
    double center, scale;
    double spread; /* of the first layer's initial biases: see mlp_randomize() */
};

/* sum = input * weight + bias, a row for each point; [k] are the k-th derivatives by x. */
struct mlp_layer {
    int inputs, outputs;
    double *weight, *bias, *d_weight, *d_bias; /* weight is inputs x outputs */
    double *input[MLP_ORDERS], *sum[MLP_ORDERS];
};

struct mlp {
    struct mlp_shape shape;
    int layer_count; /* hidden ones and the last */
    struct mlp_layer layers[MLP_LAYERS_MAX];

    size_t parameter_count;
    double *parameters, *gradients; /* owned; each all of them in one vector */

    /* The same for hvd_optimizer.h: 2 x layer is its weight, 2 x layer + 1 its bias. */
    struct hvd_parameter tensors[2 * MLP_LAYERS_MAX];
    int tensor_count;

    size_t points; /* of the last mlp_forward() */
    double *u[MLP_ORDERS], *d_u[MLP_ORDERS];

    double *memory;                                  /* owned; what all these point into */
    double *d_sum[MLP_ORDERS], *d_input[MLP_ORDERS]; /* of the layer at hand */
    int64_t dims[MLP_LAYERS_MAX][2];
};

/* Returns 0, or -1 when out of memory. `mlp` stays where it is until mlp_fini(). */
int mlp_init(struct mlp *mlp, const struct mlp_shape *shape);

/* Glorot's initial weights, uniform in +- sqrt(6 / (inputs + outputs)). The biases of the first
 * layer are uniform in +- spread, so that its tanh bend in different places; all others are 0. The
 * same for the same seed and index. */
void mlp_randomize(struct mlp *mlp, uint64_t seed, uint64_t index);

void mlp_forward(struct mlp *mlp, const double *x, size_t points);

/* Overwrites the gradients of a layer; from the last to the first. d_u is gone after the last. */
void mlp_backward(struct mlp *mlp, int layer);

void mlp_fini(struct mlp *mlp);

#endif
