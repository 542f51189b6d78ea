/* SPDX-License-Identifier: Apache-2.0 */
/* A model for tests of optimizers; see model.h. */
#include "tests/support/model.h"

#include "tests/support/elements.h"
#include "tests/support/ranks.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

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

static void fill(int parameter, void *memory, double value)
{
    for (int i = 0; i < shapes[parameter].count; i++)
        element_put(shapes[parameter].dtype, memory, (size_t)i, value);
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
        const struct hvd_parameter *is = &model->parameters[i];
        for (size_t k = 0; k < (size_t)shapes[i].count; k++)
            element_put(is->dtype, is->data, k,
                        element_get(is->dtype, is->data, k) -
                            element_get(is->dtype, is->gradient, k));
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

int model_try(struct model *model, const struct hvd_optimizer_options *options, int place,
              const struct hvd_parameter *parameter)
{
    struct hvd_optimizer *optimizer = (void *)model; /* anything, until it is set */
    model_init(model);
    if (parameter)
        model->parameters[place] = *parameter;
    int rc = hvd_optimizer_create(model->parameters, MODEL_PARAMETERS, options, model_update, model,
                                  &optimizer);
    REQUIRE((optimizer != NULL) == (rc == HVD_OK));
    hvd_optimizer_destroy(optimizer);
    return rc;
}

void model_require_text(const char *head, const struct model_case *expected)
{
    const char *text = hvd_last_error();
    size_t length = strlen(head);
    require_text(expected->text);
    REQUIRE(strncmp(text, head, length) == 0);
    REQUIRE(strncmp(text + length, expected->text, strlen(expected->text)) == 0);
}

void model_require_mistakes(struct model *model, const struct model_case *cases, int count)
{
    bool alone = hvd_size() == 1, mine = alone || hvd_rank() == 1;
    for (const struct model_case *at = cases; at < cases + count; at++) {
        int rc = mine ? model_try(model, &at->options, at->place, at->parameter)
                      : model_try(model, NULL, 0, NULL);
        REQUIRE_STATUS(rc, mine ? HVD_ERR_INVALID : HVD_ERR_MISMATCH);
        model_require_text(mine ? "optimizer: " : "optimizer: rank 1: ", at);
    }
    REQUIRE_STATUS(model_try(model, NULL, 0, NULL), HVD_OK);
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
        double is = element_get(shapes[parameter].dtype, memory, (size_t)i);
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
