/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards: each image through the convolutions, then the whole batch through the dense layers.
 * Backwards: the same way back. Only network_init() can fail, for want of memory.
 *
 * ReLU is applied after the max-pool instead of before it: the largest of four is the same either
 * way, for a quarter of the work. */
#include "examples/fashion_network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/support/conv.h"
#include "examples/support/layers.h"
#include "examples/support/random.h"

enum { FIRST = 26 * 26 * 32, SECOND = 24 * 24 * 64, POOLED = 12 * 12 * 64, HIDDEN = 128 };

static const struct conv conv1 = { IMAGE_HEIGHT, IMAGE_WIDTH, 1, 32 };
static const struct conv conv2 = { 26, 26, 32, 64 };
static const struct maxpool pool = { 24, 24, 64 };
static const float dropout1 = 0.25f, dropout2 = 0.5f;

enum { CONV1, CONV2 = 2, DENSE1 = 4, DENSE2 = 6 }; /* each is its weight, then its bias */

static const struct {
    const char *name;
    int ndims;
    int64_t dims[4];
} layout[NETWORK_TENSORS] = {
    { "conv1.weight", 4, { 3, 3, 1, 32 } },
    { "conv1.bias", 1, { 32 } },
    { "conv2.weight", 4, { 3, 3, 32, 64 } },
    { "conv2.bias", 1, { 64 } },
    { "dense1.weight", 2, { POOLED, HIDDEN } },
    { "dense1.bias", 1, { HIDDEN } },
    { "dense2.weight", 2, { HIDDEN, IMAGE_CLASSES } },
    { "dense2.bias", 1, { IMAGE_CLASSES } },
};

static size_t element_count(int which)
{
    size_t count = 1;
    for (int k = 0; k < layout[which].ndims; k++)
        count *= (size_t)layout[which].dims[k];
    return count;
}

/* Where each tensor lies in the vectors. */
static void lay_out(struct network *network)
{
    size_t offset = 0;
    for (int i = 0; i < NETWORK_TENSORS; i++) {
        network->tensors[i] = (struct hvd_parameter){
            .name = layout[i].name,
            .data = network->parameter_values + offset,
            .gradient = network->gradient_values + offset,
            .dtype = HVD_FLOAT32,
            .ndims = layout[i].ndims,
            .dims = layout[i].dims,
        };
        offset += element_count(i);
    }
}

static float *floats(size_t count)
{
    size_t size = (count * sizeof(float) + 63) / 64 * 64; /* whole cache lines */
    float *values = aligned_alloc(64, size);
    return values == NULL ? NULL : memset(values, 0, size);
}

int network_init(struct network *network, int batch)
{
    size_t images = (size_t)batch;
    *network = (struct network){ .batch = batch };
    for (int i = 0; i < NETWORK_TENSORS; i++)
        network->parameter_count += element_count(i);
    const struct {
        float **values;
        size_t count;
    } memory[] = {
        { &network->parameter_values, network->parameter_count },
        { &network->gradient_values, network->parameter_count },
        { &network->first, images * FIRST },
        { &network->pooled, images * POOLED },
        { &network->hidden, images * HIDDEN },
        { &network->logits, images * IMAGE_CLASSES },
        { &network->d_pooled, images * POOLED },
        { &network->d_hidden, images * HIDDEN },
        { &network->second, SECOND },
        { &network->columns, conv_columns_count(&conv2) },
        { &network->d_first, FIRST },
    };
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        if ((*memory[i].values = floats(memory[i].count)) == NULL)
            return -1;
    if ((network->winner = calloc(images * POOLED, sizeof *network->winner)) == NULL)
        return -1;
    lay_out(network);
    return 0;
}

void network_fini(struct network *network)
{
    float *memory[] = { network->parameter_values, network->gradient_values, network->first,
                        network->pooled,           network->hidden,          network->logits,
                        network->d_pooled,         network->d_hidden,        network->second,
                        network->columns,          network->d_first };
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        free(memory[i]);
    free(network->winner);
    *network = (struct network){ 0 };
}

/* sqrt(6 / (inputs + outputs)), where a convolution has 3 x 3 times its channels of each. */
static float glorot_limit(int which)
{
    const int64_t *last_two = layout[which].dims + layout[which].ndims - 2;
    int64_t field = (int64_t)element_count(which) / (last_two[0] * last_two[1]);
    return sqrtf(6.0f / (float)(field * (last_two[0] + last_two[1])));
}

void network_randomize(struct network *network, uint64_t seed, uint64_t index)
{
    struct random_stream stream;
    random_start(&stream, seed, RANDOM_INITIAL, index);
    for (int i = 0; i < NETWORK_TENSORS; i++) {
        float limit = layout[i].ndims > 1 ? glorot_limit(i) : 0;
        float *values = network->tensors[i].data;
        for (size_t k = 0; k < element_count(i); k++)
            values[k] = random_uniform(&stream, -limit, limit);
    }
}

static const float *parameter(const struct network *network, int which)
{
    return network->tensors[which].data;
}

static float *gradient(const struct network *network, int which)
{
    return network->tensors[which].gradient;
}

static struct dense dense1_of(int rows)
{
    return (struct dense){ rows, POOLED, HIDDEN };
}

static struct dense dense2_of(int rows)
{
    return (struct dense){ rows, HIDDEN, IMAGE_CLASSES };
}

static void drop(const struct network_batch *batch, int image, enum random_purpose purpose,
                 float rate, float *values, size_t count)
{
    if (!batch->dropout)
        return;
    struct random_stream stream;
    random_start(&stream, batch->seed, purpose, batch->draws[image]);
    dropout(stream, rate, values, count);
}

static void see_image(struct network *network, const float *pixels, int image)
{
    float *first = network->first + image * FIRST, *pooled = network->pooled + image * POOLED;
    conv_forward(&conv1, pixels + image * IMAGE_PIXELS, parameter(network, CONV1),
                 parameter(network, CONV1 + 1), network->columns, first);
    relu_forward(first, FIRST);
    conv_forward(&conv2, first, parameter(network, CONV2), parameter(network, CONV2 + 1),
                 network->columns, network->second);
    maxpool_forward(&pool, network->second, pooled, network->winner + image * POOLED);
    relu_forward(pooled, POOLED);
}

static void forward(struct network *network, const struct network_batch *batch)
{
    struct dense dense1 = dense1_of(batch->count), dense2 = dense2_of(batch->count);
    for (int i = 0; i < batch->count; i++) {
        see_image(network, batch->pixels, i);
        drop(batch, i, RANDOM_DROPOUT_1, dropout1, network->pooled + i * POOLED, POOLED);
    }
    dense_forward(&dense1, network->pooled, parameter(network, DENSE1),
                  parameter(network, DENSE1 + 1), network->hidden);
    relu_forward(network->hidden, (size_t)batch->count * HIDDEN);
    for (int i = 0; i < batch->count; i++)
        drop(batch, i, RANDOM_DROPOUT_2, dropout2, network->hidden + i * HIDDEN, HIDDEN);
    dense_forward(&dense2, network->hidden, parameter(network, DENSE2),
                  parameter(network, DENSE2 + 1), network->logits);
}

/* The mean loss of the batch; the logits become its gradient. */
static double loss_of(struct network *network, const struct network_batch *batch)
{
    double loss = 0;
    for (int i = 0; i < batch->count; i++)
        loss += softmax_cross_entropy(network->logits + i * IMAGE_CLASSES, IMAGE_CLASSES,
                                      batch->labels[i]);
    for (int i = 0; i < batch->count * IMAGE_CLASSES; i++)
        network->logits[i] /= (float)batch->count;
    return loss / batch->count;
}

/* What is after the dense layers, d_pooled, becomes the gradient of what is after conv1, in its
 * place. */
static void learn_conv2(struct network *network, int image)
{
    float *first = network->first + image * FIRST;
    float *d_second = network->second, *d_pooled = network->d_pooled + image * POOLED;
    relu_backward(network->pooled + image * POOLED, d_pooled, POOLED);
    maxpool_backward(&pool, d_pooled, network->winner + image * POOLED, d_second);
    conv_backward(&conv2, first, parameter(network, CONV2), d_second, network->columns,
                  gradient(network, CONV2), gradient(network, CONV2 + 1), network->d_first);
    relu_backward(first, network->d_first, FIRST);
    memcpy(first, network->d_first, FIRST * sizeof *first);
}

static void learn_conv1(struct network *network, const float *pixels, int image)
{
    conv_backward(&conv1, pixels + image * IMAGE_PIXELS, parameter(network, CONV1),
                  network->first + image * FIRST, network->columns, gradient(network, CONV1),
                  gradient(network, CONV1 + 1), NULL);
}

static void learn_dense2(struct network *network, const struct network_batch *batch)
{
    struct dense dense2 = dense2_of(batch->count);
    dense_backward(&dense2, network->hidden, parameter(network, DENSE2), network->logits,
                   gradient(network, DENSE2), gradient(network, DENSE2 + 1), network->d_hidden);
}

static void learn_dense1(struct network *network, const struct network_batch *batch)
{
    struct dense dense1 = dense1_of(batch->count);
    for (int i = 0; i < batch->count; i++)
        drop(batch, i, RANDOM_DROPOUT_2, dropout2, network->d_hidden + i * HIDDEN, HIDDEN);
    relu_backward(network->hidden, network->d_hidden, (size_t)batch->count * HIDDEN);
    dense_backward(&dense1, network->pooled, parameter(network, DENSE1), network->d_hidden,
                   gradient(network, DENSE1), gradient(network, DENSE1 + 1), network->d_pooled);
}

/* A layer's gradients are complete. */
static void layer_ready(int layer, network_ready_fn *ready, void *arg)
{
    ready(arg, layer + 1);
    ready(arg, layer);
}

static void backward(struct network *network, const struct network_batch *batch,
                     network_ready_fn *ready, void *arg)
{
    memset(network->gradient_values, 0, network->parameter_count * sizeof(float));
    learn_dense2(network, batch);
    layer_ready(DENSE2, ready, arg);
    learn_dense1(network, batch);
    layer_ready(DENSE1, ready, arg);
    for (int i = 0; i < batch->count; i++) {
        drop(batch, i, RANDOM_DROPOUT_1, dropout1, network->d_pooled + i * POOLED, POOLED);
        learn_conv2(network, i);
    }
    layer_ready(CONV2, ready, arg);
    for (int i = 0; i < batch->count; i++)
        learn_conv1(network, batch->pixels, i);
    layer_ready(CONV1, ready, arg);
}

double network_learn(struct network *network, const struct network_batch *batch,
                     network_ready_fn *ready, void *arg)
{
    forward(network, batch);
    double loss = loss_of(network, batch);
    backward(network, batch, ready, arg);
    return loss;
}

int network_count_correct(struct network *network, const float *pixels, const unsigned char *labels,
                          int count)
{
    struct network_batch batch = { .pixels = pixels, .labels = labels, .count = count };
    forward(network, &batch);
    int correct = 0;
    for (int i = 0; i < count; i++)
        correct += most_likely(network->logits + i * IMAGE_CLASSES, IMAGE_CLASSES) == labels[i];
    return correct;
}
