/* SPDX-License-Identifier: Apache-2.0 */
/* A model for tests of optimizers; see model.h. */
#include "tests/support/model.h"

#include "lib/reduce/half.h"
#include "tests/support/ranks.h"

#include <stdio.h>

static const struct shape {
    const char *name;
    enum hvd_dtype dtype;
    int ndims;
    int64_t dims[2];
    int count;
} shapes[MODEL_PARAMETERS] = {
    [MODEL_W] = { "w", HVD_FLOAT32, 2, { 2, 3 }, 6 },
    [MODEL_B] = { "b", HVD_FLOAT32, 1, { 3 }, 3 },
    [MODEL_SCALE] = { "scale", HVD_FLOAT64, 0, { 0 }, 1 },
    [MODEL_LARGE] = { "large", HVD_FLOAT32, 1, { MODEL_LARGE_COUNT }, MODEL_LARGE_COUNT },
    [MODEL_HALF] = { "half", HVD_BFLOAT16, 1, { 5 }, 5 },
    [MODEL_EMPTY] = { "empty", HVD_FLOAT32, 2, { 0, 4 }, 0 },
};

static double get(enum hvd_dtype dtype, const void *memory, int at)
{
    switch (dtype) {
    case HVD_FLOAT64:
        return ((const double *)memory)[at];
    case HVD_BFLOAT16:
        return (double)bfloat16_to_float(((const uint16_t *)memory)[at]);
    default:
        return (double)((const float *)memory)[at];
    }
}

static void put(enum hvd_dtype dtype, void *memory, int at, double value)
{
    switch (dtype) {
    case HVD_FLOAT64:
        ((double *)memory)[at] = value;
        break;
    case HVD_BFLOAT16:
        ((uint16_t *)memory)[at] = bfloat16_from_float((float)value);
        break;
    default:
        ((float *)memory)[at] = (float)value;
    }
}

static void fill(int parameter, void *memory, double value)
{
    for (int i = 0; i < shapes[parameter].count; i++)
        put(shapes[parameter].dtype, memory, i, value);
}

void model_init(struct model *model)
{
    void *memory[][2] = { [MODEL_W] = { model->w[0], model->w[1] },
                          [MODEL_B] = { model->b[0], model->b[1] },
                          [MODEL_SCALE] = { &model->scale[0], &model->scale[1] },
                          [MODEL_LARGE] = { model->large[0], model->large[1] },
                          [MODEL_HALF] = { model->half[0], model->half[1] },
                          [MODEL_EMPTY] = { NULL, NULL } };
    model->updates = model->result = 0;
    for (int i = 0; i < MODEL_PARAMETERS; i++) {
        model->parameters[i] = (struct hvd_parameter){ .name = shapes[i].name,
                                                       .data = memory[i][0],
                                                       .gradient = memory[i][1],
                                                       .dtype = shapes[i].dtype,
                                                       .ndims = shapes[i].ndims,
                                                       .dims = shapes[i].dims };
        fill(i, memory[i][0], 100);
        fill(i, memory[i][1], 0);
    }
}

int model_update(void *arg)
{
    struct model *model = arg;
    model->updates++;
    for (int i = 0; i < MODEL_PARAMETERS; i++) {
        const struct hvd_parameter *parameter = &model->parameters[i];
        for (int k = 0; k < shapes[i].count; k++)
            put(parameter->dtype, parameter->data, k,
                get(parameter->dtype, parameter->data, k) -
                    get(parameter->dtype, parameter->gradient, k));
    }
    return model->result;
}

struct hvd_optimizer *model_optimizer(struct model *model,
                                      const struct hvd_optimizer_options *options)
{
    struct hvd_optimizer *optimizer = NULL;
    model_init(model);
    REQUIRE_STATUS(hvd_optimizer_create(model->parameters, MODEL_PARAMETERS, options, model_update,
                                        model, &optimizer),
                   HVD_OK);
    return optimizer;
}

void model_set(struct model *model, int parameter, double value)
{
    fill(parameter, model->parameters[parameter].gradient, value);
}

void model_set_all(struct model *model, double value)
{
    for (int i = 0; i < MODEL_PARAMETERS; i++)
        model_set(model, i, value);
}

void model_ready(struct model *model, struct hvd_optimizer *optimizer, int parameter, double value)
{
    model_set(model, parameter, value);
    REQUIRE_STATUS(hvd_optimizer_ready(optimizer, parameter), HVD_OK);
}

void model_ready_all(struct model *model, struct hvd_optimizer *optimizer, double value)
{
    for (int i = MODEL_PARAMETERS - 1; i >= 0; i--)
        model_ready(model, optimizer, i, value);
}

static void require(int parameter, const char *what, const void *memory, double value)
{
    for (int i = 0; i < shapes[parameter].count; i++) {
        double is = get(shapes[parameter].dtype, memory, i);
        if (is != value)
            fprintf(stderr, "%s of %s at %d is %.17g, wanted %.17g\n", what, shapes[parameter].name,
                    i, is, value);
        REQUIRE(is == value);
    }
}

void model_require(const struct model *model, int parameter, double value)
{
    require(parameter, "gradient", model->parameters[parameter].gradient, value);
}

void model_require_all(const struct model *model, double value)
{
    for (int i = 0; i < MODEL_PARAMETERS; i++)
        model_require(model, i, value);
}

void model_require_data(const struct model *model, double value)
{
    for (int i = 0; i < MODEL_PARAMETERS; i++)
        require(i, "data", model->parameters[i].data, value);
}
