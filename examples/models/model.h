/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of the networks that everybody measures with: names, shapes and order are those of
 * torchvision, for images of 3 channels and 1000 classes.
 *
 *     name        image       tensors   parameters
 *     resnet50    224 x 224       161   25 557 032   He et al., 2015
 *     resnet101   224 x 224       314   44 549 160
 *     inception3  299 x 299       292   27 161 264   Szegedy et al., 2015; the auxiliary classifier
 *                                                    takes part in training, so it counts
 *     vgg16       224 x 224        32  138 357 544   Simonyan and Zisserman, 2014
 *
 * They are made by walking through the architectures: what is written down are the blocks, as the
 * papers and torchvision have them. */
#ifndef EXAMPLES_MODELS_MODEL_H
#define EXAMPLES_MODELS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MODEL_TENSORS_MAX = 320, MODEL_NAME_SIZE = 64, MODEL_DIMS = 4 };

struct model_tensor {
    char name[MODEL_NAME_SIZE]; /* e.g. layer1.0.conv1.weight */
    int ndims;
    int64_t dims[MODEL_DIMS];
    int64_t multiplications; /* with its elements, for one image, forwards */
};

struct model {
    const char *name;
    int count;
    struct model_tensor tensors[MODEL_TENSORS_MAX]; /* `count`, in the order of the layers */
};

/* False if there is none of this name. */
bool model_make(struct model *model, const char *name);

/* "resnet50, resnet101, inception3 or vgg16" */
const char *model_names(void);

/* Divides the first dimension of each tensor, to 1 at least. What an image costs stays as it is. */
void model_shrink(struct model *model, int64_t divisor);

int64_t model_tensor_elements(const struct model_tensor *tensor);
int64_t model_elements(const struct model *model);
int64_t model_multiplications(const struct model *model);

#endif
