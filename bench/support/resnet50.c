/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of ResNet-50's parameters; see resnet50.h. */
#include "bench/support/resnet50.h"

#include <assert.h>

#include "examples/models/model.h"

void resnet50_counts(size_t counts[RESNET50_TENSORS])
{
    static struct model model;
    model_make(&model, "resnet50");
    assert(model.count == RESNET50_TENSORS && model_elements(&model) == RESNET50_ELEMENTS);
    for (int i = 0; i < RESNET50_TENSORS; i++)
        counts[i] = (size_t)model_tensor_elements(&model.tensors[i]);
}
