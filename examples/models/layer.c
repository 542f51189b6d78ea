/* SPDX-License-Identifier: Apache-2.0 */
/* Layers; see layer.h. A model has room for the architectures there are. */
#include "examples/models/layer.h"

#include <assert.h>
#include <stdio.h>

static void add(struct model *model, const char *layer, const char *what, struct feature_map output,
                struct model_tensor tensor)
{
    assert(model->count < MODEL_TENSORS_MAX);
    int length = snprintf(tensor.name, sizeof tensor.name, "%s.%s", layer, what);
    assert(length > 0 && length < MODEL_NAME_SIZE);
    (void)length;
    tensor.multiplications = model_tensor_elements(&tensor) * output.side * output.side;
    model->tensors[model->count++] = tensor;
}

/* What is not `valid` is padded by half the kernel: every stride-th pixel is the middle of one. */
static int output_side(int side, int kernel, int stride, bool valid)
{
    return valid ? (side - kernel) / stride + 1 : (side - 1) / stride + 1;
}

struct feature_map add_convolution(struct model *model, const char *name, struct feature_map input,
                                   const struct convolution *convolution)
{
    struct feature_map output = {
        .channels = convolution->channels,
        .side =
            output_side(input.side, convolution->height, convolution->stride, convolution->valid),
    };
    add(model, name, "weight", output,
        (struct model_tensor){
            .ndims = 4,
            .dims = { output.channels, input.channels, convolution->height, convolution->width } });
    return output;
}

static void add_vector(struct model *model, const char *layer, const char *what,
                       struct feature_map output)
{
    add(model, layer, what, output,
        (struct model_tensor){ .ndims = 1, .dims = { output.channels } });
}

void add_normalization(struct model *model, const char *name, struct feature_map input)
{
    add_vector(model, name, "weight", input);
    add_vector(model, name, "bias", input);
}

void add_bias(struct model *model, const char *name, struct feature_map input)
{
    add_vector(model, name, "bias", input);
}

struct feature_map add_dense(struct model *model, const char *name, struct feature_map input,
                             int outputs)
{
    struct feature_map output = { outputs, 1 };
    add(model, name, "weight", output,
        (struct model_tensor){ .ndims = 2,
                               .dims = { outputs, input.channels * input.side * input.side } });
    add_bias(model, name, output);
    return output;
}

struct feature_map pool(struct feature_map input, int kernel, int stride, bool valid)
{
    input.side = output_side(input.side, kernel, stride, valid);
    return input;
}
