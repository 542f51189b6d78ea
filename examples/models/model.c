/* SPDX-License-Identifier: Apache-2.0 */
/* Which models there are; see model.h. */
#include "examples/models/model.h"

#include <string.h>

#include "examples/models/architectures.h"

static const struct {
    const char *name;
    void (*add)(struct model *model);
} rows[] = {
    { "resnet50", add_resnet50 },
    { "resnet101", add_resnet101 },
    { "inception3", add_inception3 },
    { "vgg16", add_vgg16 },
};

const char *model_names(void)
{
    return "resnet50, resnet101, inception3 or vgg16";
}

bool model_make(struct model *model, const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        model->name = rows[i].name;
        model->count = 0;
        rows[i].add(model);
        return true;
    }
    return false;
}

void model_shrink(struct model *model, int64_t divisor)
{
    for (int i = 0; i < model->count; i++) {
        int64_t *dim = &model->tensors[i].dims[0];
        *dim = *dim > divisor ? *dim / divisor : 1;
    }
}

int64_t model_tensor_elements(const struct model_tensor *tensor)
{
    int64_t elements = 1;
    for (int i = 0; i < tensor->ndims; i++)
        elements *= tensor->dims[i];
    return elements;
}

int64_t model_elements(const struct model *model)
{
    int64_t elements = 0;
    for (int i = 0; i < model->count; i++)
        elements += model_tensor_elements(&model->tensors[i]);
    return elements;
}

int64_t model_multiplications(const struct model *model)
{
    int64_t multiplications = 0;
    for (int i = 0; i < model->count; i++)
        multiplications += model->tensors[i].multiplications;
    return multiplications;
}
