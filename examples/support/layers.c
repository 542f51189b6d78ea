/* SPDX-License-Identifier: Apache-2.0 */
/* Dense, ReLU, max-pooling, dropout and softmax cross-entropy. Pure arithmetic: nothing fails. The
 * inner loops run over channels or whole vectors, so that the compiler can vectorise them. */
#include "examples/support/layers.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

void dense_forward(const struct dense *dense, const float *input, const float *weight,
                   const float *bias, float *output)
{
    int rows = dense->rows, inputs = dense->inputs, outputs = dense->outputs;
    for (int row = 0; row < rows; row++)
        memcpy(output + row * outputs, bias, (size_t)outputs * sizeof *output);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, rows, outputs, inputs, 1, input, inputs,
                weight, outputs, 1, output, outputs);
}

void dense_backward(const struct dense *dense, const float *input, const float *weight,
                    const float *d_output, float *d_weight, float *d_bias, float *d_input)
{
    int rows = dense->rows, inputs = dense->inputs, outputs = dense->outputs;
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < outputs; i++)
            d_bias[i] += d_output[row * outputs + i];
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, inputs, outputs, rows, 1, input, inputs,
                d_output, outputs, 1, d_weight, outputs);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, inputs, outputs, 1, d_output,
                outputs, weight, outputs, 0, d_input, inputs);
}

void relu_forward(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = values[i] > 0 ? values[i] : 0;
}

void relu_backward(const float *output, float *d_values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        d_values[i] = output[i] > 0 ? d_values[i] : 0;
}

size_t maxpool_output_count(const struct maxpool *pool)
{
    return (size_t)(pool->height / 2) * (size_t)(pool->width / 2) * (size_t)pool->channels;
}

/* One output pixel: corner k of the four inputs is at + (k / 2) * line + (k % 2) * channels. */
static void pool_pixel(const float *restrict at, int line, int channels, float *restrict output,
                       int32_t *restrict winner)
{
    for (int c = 0; c < channels; c++) {
        float best = at[c];
        int32_t which = 0;
        float right = at[channels + c], below = at[line + c], last = at[line + channels + c];
        which = right > best ? 1 : which;
        best = right > best ? right : best;
        which = below > best ? 2 : which;
        best = below > best ? below : best;
        which = last > best ? 3 : which;
        output[c] = last > best ? last : best;
        winner[c] = which;
    }
}

void maxpool_forward(const struct maxpool *pool, const float *input, float *output, int32_t *winner)
{
    int channels = pool->channels, line = pool->width * channels;
    for (int y = 0; y < pool->height; y += 2) {
        for (int x = 0; x < pool->width; x += 2, output += channels, winner += channels)
            pool_pixel(input + y * line + x * channels, line, channels, output, winner);
    }
}

static void unpool_pixel(const float *restrict d_output, const int32_t *restrict winner, int line,
                         int channels, float *restrict at)
{
    for (int c = 0; c < channels; c++) {
        at[c] = winner[c] == 0 ? d_output[c] : 0;
        at[channels + c] = winner[c] == 1 ? d_output[c] : 0;
    }
    for (int c = 0; c < channels; c++) {
        at[line + c] = winner[c] == 2 ? d_output[c] : 0;
        at[line + channels + c] = winner[c] == 3 ? d_output[c] : 0;
    }
}

void maxpool_backward(const struct maxpool *pool, const float *d_output, const int32_t *winner,
                      float *d_input)
{
    int channels = pool->channels, line = pool->width * channels;
    for (int y = 0; y < pool->height; y += 2) {
        for (int x = 0; x < pool->width; x += 2, d_output += channels, winner += channels)
            unpool_pixel(d_output, winner, line, channels, d_input + y * line + x * channels);
    }
}

void dropout(struct random_stream stream, float rate, float *values, size_t count)
{
    uint32_t threshold = (uint32_t)(rate * 0x1p16f);
    float scale = 1 / (1 - rate);
    for (size_t i = 0; i < count;) {
        uint64_t bits = random_next(&stream); /* 16 of them for each value */
        for (int k = 0; k < 4 && i < count; k++, i++, bits >>= 16)
            values[i] *= (bits & 0xffff) >= threshold ? scale : 0;
    }
}

double softmax_cross_entropy(float *logits, int classes, int label)
{
    float largest = logits[most_likely(logits, classes)];
    double loss = largest - logits[label], sum = 0;
    for (int c = 0; c < classes; c++) {
        logits[c] = expf(logits[c] - largest);
        sum += (double)logits[c];
    }
    for (int c = 0; c < classes; c++)
        logits[c] = (float)((double)logits[c] / sum) - (c == label ? 1.0f : 0.0f);
    return loss + log(sum);
}

int most_likely(const float *logits, int classes)
{
    int best = 0;
    for (int c = 1; c < classes; c++)
        best = logits[c] > logits[best] ? c : best;
    return best;
}
