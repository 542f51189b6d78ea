/* SPDX-License-Identifier: Apache-2.0 */
/* Inception V3: five convolutions, eleven blocks of five kinds, an auxiliary classifier beside the
 * eighth, a dense layer. Each convolution is followed by a normalization; none has a bias.
 *
 * A block is a table of convolutions, each of which says where its input comes from: that of the
 * block, or a row above it. The output of the block are those that no row takes for its input, side
 * by side; with `pass`, the block's input as well, pooled. */
#include <assert.h>
#include <stdio.h>

#include "examples/models/architectures.h"
#include "examples/models/layer.h"

enum { BLOCK_ROWS_MAX = 10, OWN_CHANNELS = 0, CLASSES = 1000 };

struct row {
    const char *name;
    int back; /* its input is the output of so many rows above; 0: the block's */
    struct convolution convolution;
};

static const struct row kind_a[] = {
    { "branch1x1", 0, SAME(64, 1, 1) },
    { "branch5x5_1", 0, SAME(48, 1, 1) },
    { "branch5x5_2", 1, SAME(64, 5, 5) },
    { "branch3x3dbl_1", 0, SAME(64, 1, 1) },
    { "branch3x3dbl_2", 1, SAME(96, 3, 3) },
    { "branch3x3dbl_3", 1, SAME(96, 3, 3) },
    { "branch_pool", 0, SAME(OWN_CHANNELS, 1, 1) },
    { 0 },
};

static const struct row kind_b[] = {
    { "branch3x3", 0, VALID(384, 3, 2) },
    { "branch3x3dbl_1", 0, SAME(64, 1, 1) },
    { "branch3x3dbl_2", 1, SAME(96, 3, 3) },
    { "branch3x3dbl_3", 1, VALID(96, 3, 2) },
    { 0 },
};

static const struct row kind_c[] = {
    { "branch1x1", 0, SAME(192, 1, 1) },
    { "branch7x7_1", 0, SAME(OWN_CHANNELS, 1, 1) },
    { "branch7x7_2", 1, SAME(OWN_CHANNELS, 1, 7) },
    { "branch7x7_3", 1, SAME(192, 7, 1) },
    { "branch7x7dbl_1", 0, SAME(OWN_CHANNELS, 1, 1) },
    { "branch7x7dbl_2", 1, SAME(OWN_CHANNELS, 7, 1) },
    { "branch7x7dbl_3", 1, SAME(OWN_CHANNELS, 1, 7) },
    { "branch7x7dbl_4", 1, SAME(OWN_CHANNELS, 7, 1) },
    { "branch7x7dbl_5", 1, SAME(192, 1, 7) },
    { "branch_pool", 0, SAME(192, 1, 1) },
    { 0 },
};

static const struct row kind_d[] = {
    { "branch3x3_1", 0, SAME(192, 1, 1) },
    { "branch3x3_2", 1, VALID(320, 3, 2) },
    { "branch7x7x3_1", 0, SAME(192, 1, 1) },
    { "branch7x7x3_2", 1, SAME(192, 1, 7) },
    { "branch7x7x3_3", 1, SAME(192, 7, 1) },
    { "branch7x7x3_4", 1, VALID(192, 3, 2) },
    { 0 },
};

static const struct row kind_e[] = {
    { "branch1x1", 0, SAME(320, 1, 1) },       { "branch3x3_1", 0, SAME(384, 1, 1) },
    { "branch3x3_2a", 1, SAME(384, 1, 3) },    { "branch3x3_2b", 2, SAME(384, 3, 1) },
    { "branch3x3dbl_1", 0, SAME(448, 1, 1) },  { "branch3x3dbl_2", 1, SAME(384, 3, 3) },
    { "branch3x3dbl_3a", 1, SAME(384, 1, 3) }, { "branch3x3dbl_3b", 2, SAME(384, 3, 1) },
    { "branch_pool", 0, SAME(192, 1, 1) },     { 0 },
};

struct block {
    const char *name;
    const struct row *rows;
    int channels; /* of the rows that have none of their own */
    bool pass;
};

static const struct block before_auxiliary[] = {
    { "Mixed_5b", kind_a, 32, false },
    { "Mixed_5c", kind_a, 64, false },
    { "Mixed_5d", kind_a, 64, false },
    { "Mixed_6a", kind_b, 0, true },
    { "Mixed_6b", kind_c, 128, false },
    { "Mixed_6c", kind_c, 160, false },
    { "Mixed_6d", kind_c, 160, false },
    { "Mixed_6e", kind_c, 192, false },
    { 0 },
};

static const struct block after_auxiliary[] = {
    { "Mixed_7a", kind_d, 0, true },
    { "Mixed_7b", kind_e, 0, false },
    { "Mixed_7c", kind_e, 0, false },
    { 0 },
};

static struct feature_map add_pair(struct model *model, const char *name, struct feature_map input,
                                   const struct convolution *convolution)
{
    char part[MODEL_NAME_SIZE];
    snprintf(part, sizeof part, "%s.conv", name);
    struct feature_map output = add_convolution(model, part, input, convolution);
    snprintf(part, sizeof part, "%s.bn", name);
    add_normalization(model, part, output);
    return output;
}

static struct feature_map add_row(struct model *model, const struct block *block,
                                  const struct row *row, struct feature_map input)
{
    char name[MODEL_NAME_SIZE];
    snprintf(name, sizeof name, "%s.%s", block->name, row->name);
    struct convolution convolution = row->convolution;
    if (convolution.channels == OWN_CHANNELS)
        convolution.channels = block->channels;
    return add_pair(model, name, input, &convolution);
}

static struct feature_map add_block(struct model *model, const struct block *block,
                                    struct feature_map input)
{
    struct feature_map outputs[BLOCK_ROWS_MAX], output = { block->pass ? input.channels : 0, 0 };
    bool taken[BLOCK_ROWS_MAX] = { false };
    int count = 0;
    for (const struct row *row = block->rows; row->name != NULL; row++, count++) {
        assert(count < BLOCK_ROWS_MAX && row->back <= count);
        if (row->back > 0)
            taken[count - row->back] = true;
        outputs[count] =
            add_row(model, block, row, row->back > 0 ? outputs[count - row->back] : input);
    }
    for (int i = 0; i < count; i++) {
        output.channels += taken[i] ? 0 : outputs[i].channels;
        output.side = outputs[i].side;
    }
    return output;
}

static struct feature_map add_blocks(struct model *model, const struct block *block,
                                     struct feature_map map)
{
    for (; block->name != NULL; block++)
        map = add_block(model, block, map);
    return map;
}

static struct feature_map add_stem(struct model *model, struct feature_map map)
{
    map = add_pair(model, "Conv2d_1a_3x3", map, &(struct convolution)VALID(32, 3, 2));
    map = add_pair(model, "Conv2d_2a_3x3", map, &(struct convolution)VALID(32, 3, 1));
    map = add_pair(model, "Conv2d_2b_3x3", map, &(struct convolution)SAME(64, 3, 3));
    map = pool(map, 3, 2, true);
    map = add_pair(model, "Conv2d_3b_1x1", map, &(struct convolution)SAME(80, 1, 1));
    map = add_pair(model, "Conv2d_4a_3x3", map, &(struct convolution)VALID(192, 3, 1));
    return pool(map, 3, 2, true);
}

static void add_auxiliary(struct model *model, struct feature_map map)
{
    map = pool(map, 5, 3, true);
    map = add_pair(model, "AuxLogits.conv0", map, &(struct convolution)SAME(128, 1, 1));
    map = add_pair(model, "AuxLogits.conv1", map, &(struct convolution)VALID(768, 5, 1));
    add_dense(model, "AuxLogits.fc", map, CLASSES);
}

void add_inception3(struct model *model)
{
    struct feature_map map = add_stem(model, (struct feature_map){ 3, 299 });
    map = add_blocks(model, before_auxiliary, map);
    add_auxiliary(model, map);
    map = add_blocks(model, after_auxiliary, map);
    add_dense(model, "fc", pool(map, map.side, 1, true), CLASSES);
}
