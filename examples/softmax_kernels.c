/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax regression as kernels: pure arithmetic in device memory, nothing fails.
 *
 * With p = softmax(x W + b) and the label y, the loss of an image is -log p[y], its gradient by the
 * logits is p - onehot(y), by W is x times that, by b is that itself. */
#include "examples/softmax_kernels.h"

#include <math.h>
#include <string.h>

/* Device memory as the accelerator's own thread sees it. */
struct view {
    float *weight, *bias, *d_weight, *d_bias;
    const float *pixels;
    const int32_t *labels;
    double *loss;
    int64_t *correct;
};

static struct view view_of(struct accelerator *accelerator, const struct softmax_model *model)
{
    return (struct view){
        .weight = accelerator_pointer(accelerator, model->weight),
        .bias = accelerator_pointer(accelerator, model->bias),
        .d_weight = accelerator_pointer(accelerator, model->d_weight),
        .d_bias = accelerator_pointer(accelerator, model->d_bias),
        .pixels = accelerator_pointer(accelerator, model->pixels),
        .labels = accelerator_pointer(accelerator, model->labels),
        .loss = accelerator_pointer(accelerator, model->loss),
        .correct = accelerator_pointer(accelerator, model->correct),
    };
}

void softmax_kernel_clear(struct accelerator *accelerator, void *arg)
{
    struct view view = view_of(accelerator, arg);
    memset(view.d_weight, 0, SOFTMAX_WEIGHTS * sizeof(float));
    memset(view.d_bias, 0, IMAGE_CLASSES * sizeof(float));
    *view.loss = 0;
    *view.correct = 0;
}

static void descend(float *values, const float *gradients, size_t count, float rate)
{
    for (size_t i = 0; i < count; i++)
        values[i] -= rate * gradients[i];
}

void softmax_kernel_update(struct accelerator *accelerator, void *arg)
{
    const struct softmax_model *model = arg;
    struct view view = view_of(accelerator, model);
    float rate = (float)model->shape.learning_rate;
    descend(view.weight, view.d_weight, SOFTMAX_WEIGHTS, rate);
    descend(view.bias, view.d_bias, IMAGE_CLASSES, rate);
}

/* The index of the largest logit, the first among equals. */
static int likeliest(const float *logits)
{
    int best = 0;
    for (int c = 1; c < IMAGE_CLASSES; c++)
        best = logits[c] > logits[best] ? c : best;
    return best;
}

static void forward(const struct view *view, const float *pixels, float *logits)
{
    memcpy(logits, view->bias, IMAGE_CLASSES * sizeof *logits);
    for (int pixel = 0; pixel < IMAGE_PIXELS; pixel++)
        for (int c = 0; c < IMAGE_CLASSES; c++)
            logits[c] += pixels[pixel] * view->weight[pixel * IMAGE_CLASSES + c];
}

/* Turns logits into their gradient; returns the loss. */
static double cross_entropy(float *logits, int label)
{
    double largest = (double)logits[likeliest(logits)], sum = 0, p[IMAGE_CLASSES];
    double loss = largest - (double)logits[label];
    for (int c = 0; c < IMAGE_CLASSES; c++)
        sum += p[c] = exp((double)logits[c] - largest);
    for (int c = 0; c < IMAGE_CLASSES; c++)
        logits[c] = (float)(p[c] / sum - (c == label ? 1 : 0));
    return loss + log(sum);
}

/* Adds the gradient, of which the image is one of `share` parts. */
static void backward(const struct view *view, const float *pixels, const float *d_logits,
                     float share)
{
    for (int c = 0; c < IMAGE_CLASSES; c++)
        view->d_bias[c] += share * d_logits[c];
    for (int pixel = 0; pixel < IMAGE_PIXELS; pixel++)
        for (int c = 0; c < IMAGE_CLASSES; c++)
            view->d_weight[pixel * IMAGE_CLASSES + c] += share * pixels[pixel] * d_logits[c];
}

void softmax_kernel_learn(struct accelerator *accelerator, void *arg)
{
    const struct softmax_kernel_images *images = arg;
    struct view view = view_of(accelerator, images->model);
    float share = 1.0f / (float)images->model->shape.batches;
    for (int i = images->first; i < images->first + images->count; i++) {
        const float *pixels = view.pixels + (size_t)i * IMAGE_PIXELS;
        float logits[IMAGE_CLASSES];
        forward(&view, pixels, logits);
        *view.loss += cross_entropy(logits, view.labels[i]);
        backward(&view, pixels, logits, share);
    }
}

void softmax_kernel_test(struct accelerator *accelerator, void *arg)
{
    const struct softmax_kernel_images *images = arg;
    struct view view = view_of(accelerator, images->model);
    for (int i = images->first; i < images->first + images->count; i++) {
        float logits[IMAGE_CLASSES];
        forward(&view, view.pixels + (size_t)i * IMAGE_PIXELS, logits);
        *view.correct += likeliest(logits) == view.labels[i];
    }
}
