/* SPDX-License-Identifier: Apache-2.0 */
/* ResNet: a 7 x 7 convolution; four stages of blocks, each of three convolutions (1 x 1 to `width`
 * channels, 3 x 3, 1 x 1 to 4 x width); a dense layer. The first block of a stage has a fourth
 * convolution beside the others, that brings its input to as many channels, and to the size that
 * the stage works at. After each convolution comes a normalization; none has a bias. */
#include <stdio.h>

#include "examples/models/architectures.h"
#include "examples/models/layer.h"

enum { STAGES = 4, CLASSES = 1000 };

/* `convolution` and `normalization` are names inside the block. */
static struct feature_map add_pair(struct model *model, const char *block, const char *convolution,
                                   const char *normalization, struct feature_map input,
                                   const struct convolution *kernel)
{
    char name[MODEL_NAME_SIZE];
    snprintf(name, sizeof name, "%s.%s", block, convolution);
    struct feature_map output = add_convolution(model, name, input, kernel);
    snprintf(name, sizeof name, "%s.%s", block, normalization);
    add_normalization(model, name, output);
    return output;
}

static struct feature_map add_block(struct model *model, const char *name, struct feature_map input,
                                    int width, int stride, bool first)
{
    struct feature_map map = input;
    map = add_pair(model, name, "conv1", "bn1", map, &(struct convolution)SAME(width, 1, 1));
    map =
        add_pair(model, name, "conv2", "bn2", map, &(struct convolution)STRIDED(width, 3, stride));
    map = add_pair(model, name, "conv3", "bn3", map, &(struct convolution)SAME(4 * width, 1, 1));
    if (first)
        add_pair(model, name, "downsample.0", "downsample.1", input,
                 &(struct convolution)STRIDED(4 * width, 1, stride));
    return map;
}

static struct feature_map add_stage(struct model *model, int stage, struct feature_map map,
                                    int blocks)
{
    for (int block = 0; block < blocks; block++) {
        char name[MODEL_NAME_SIZE];
        snprintf(name, sizeof name, "layer%d.%d", stage + 1, block);
        int stride = stage > 0 && block == 0 ? 2 : 1;
        map = add_block(model, name, map, 64 << stage, stride, block == 0);
    }
    return map;
}

static void add_resnet(struct model *model, const int blocks[STAGES])
{
    struct feature_map map = { 3, 224 };
    map = add_convolution(model, "conv1", map, &(struct convolution)STRIDED(64, 7, 2));
    add_normalization(model, "bn1", map);
    map = pool(map, 3, 2, false);
    for (int stage = 0; stage < STAGES; stage++)
        map = add_stage(model, stage, map, blocks[stage]);
    add_dense(model, "fc", pool(map, map.side, 1, true), CLASSES);
}

void add_resnet50(struct model *model)
{
    add_resnet(model, (const int[STAGES]){ 3, 4, 6, 3 });
}

void add_resnet101(struct model *model)
{
    add_resnet(model, (const int[STAGES]){ 3, 4, 23, 3 });
}
