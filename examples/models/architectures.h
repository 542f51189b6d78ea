/* SPDX-License-Identifier: Apache-2.0 */
/* The architectures behind model.h: each adds the tensors of one network to an empty model. */
#ifndef EXAMPLES_MODELS_ARCHITECTURES_H
#define EXAMPLES_MODELS_ARCHITECTURES_H

#include "examples/models/model.h"

void add_resnet50(struct model *model);
void add_resnet101(struct model *model);
void add_inception3(struct model *model);
void add_vgg16(struct model *model);

#endif
