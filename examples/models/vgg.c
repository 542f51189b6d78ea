/* SPDX-License-Identifier: Apache-2.0 */
/* VGG-16: thirteen 3 x 3 convolutions with a bias, a pooling after each row of the table, and three
 * dense layers. Their numbers in the names count the layers without parameters as well: a
 * rectifier after each, the pooling, and a dropout after the first two dense layers. */
#include <stdio.h>

#include "examples/models/architectures.h"
#include "examples/models/layer.h"

static struct feature_map add_features(struct model *model, struct feature_map map)
{
    static const struct {
        int convolutions, channels;
    } rows[] = { { 2, 64 }, { 2, 128 }, { 3, 256 }, { 3, 512 }, { 3, 512 } };
    int layer = 0;
    for (size_t row = 0; row < sizeof rows / sizeof *rows; row++) {
        for (int i = 0; i < rows[row].convolutions; i++, layer += 2) {
            char name[MODEL_NAME_SIZE];
            snprintf(name, sizeof name, "features.%d", layer);
            map = add_convolution(model, name, map,
                                  &(struct convolution)SAME(rows[row].channels, 3, 3));
            add_bias(model, name, map);
        }
        map = pool(map, 2, 2, true);
        layer++;
    }
    return map;
}

void add_vgg16(struct model *model)
{
    struct feature_map map = add_features(model, (struct feature_map){ 3, 224 });
    map = add_dense(model, "classifier.0", map, 4096);
    map = add_dense(model, "classifier.3", map, 4096);
    add_dense(model, "classifier.6", map, 1000);
}
