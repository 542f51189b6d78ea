/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of a network's parameters; see gradient_set.h. */
#include "bench/support/gradient_set.h"

#include "examples/models/model.h"

_Static_assert(MODEL_TENSORS_MAX <= (int)GRADIENT_SET_MAX, "room for every network");

bool gradient_set_make(struct gradient_set *set, const char *name)
{
    static struct model model;
    if (!model_make(&model, name))
        return false;
    *set = (struct gradient_set){ .name = name, .ntensors = model.count };
    for (int i = 0; i < model.count; i++) {
        set->counts[i] = (size_t)model_tensor_elements(&model.tensors[i]);
        set->count += set->counts[i];
    }
    return true;
}
