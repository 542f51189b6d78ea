/* SPDX-License-Identifier: Apache-2.0 */
/* Batches, gradients and updates; see synthetic_training.h. Fails when there is not enough memory,
 * when a call of the library fails, and when an average is wrong. */
#include "examples/synthetic_training.h"

#include <math.h>
#include <stdlib.h>

#include "examples/support/agreement.h"
#include "examples/support/random.h"
#include "hvd_training.h"

static const float learning_rate = 0.01F;

static void place_tensors(struct training *training)
{
    const struct model *model = &training->options->model;
    size_t at = 0;
    for (int i = 0; i < model->count; i++) {
        const struct model_tensor *tensor = &model->tensors[i];
        training->parameters[i] = (struct hvd_parameter){
            .name = tensor->name,
            .data = training->values + at,
            .gradient = training->gradients + at,
            .dtype = HVD_FLOAT32,
            .ndims = tensor->ndims,
            .dims = tensor->dims,
        };
        at += (size_t)model_tensor_elements(tensor);
    }
}

static void randomize(struct training *training)
{
    struct random_stream stream;
    random_start(&stream, (uint64_t)training->options->seed, RANDOM_INITIAL,
                 (uint64_t)training->rank);
    for (size_t i = 0; i < training->elements; i++)
        training->values[i] = random_uniform(&stream, -1, 1);
}

int training_init(struct training *training, const struct synthetic_options *options,
                  struct problem *problem)
{
    const struct model *model = &options->model;
    size_t elements = (size_t)model_elements(model);
    *training = (struct training){
        .options = options,
        .rank = hvd_rank(),
        .size = hvd_size(),
        .elements = elements,
        .values = malloc(elements * sizeof(float)),
        .gradients = malloc(elements * sizeof(float)),
        .compute = options->compute,
    };
    if (training->values == NULL || training->gradients == NULL)
        return problem_set(problem, EXIT_STATUS_DATA,
                           "out of memory: %s needs %zu MB on each rank for parameters and "
                           "gradients (--shrink takes less)",
                           model->name, 2 * elements * sizeof(float) / 1000000);
    compute_schedule(model, options->compute.seconds, training->ready_at);
    place_tensors(training);
    randomize(training);
    training_fill_gradients(training);
    return 0;
}

/* Stochastic gradient descent. */
static int update(void *arg)
{
    struct training *training = arg;
    if (training->hold)
        return 0;
    float *restrict values = training->values;
    const float *restrict gradients = training->gradients;
    for (size_t i = 0; i < training->elements; i++)
        values[i] -= learning_rate * gradients[i];
    return 0;
}

int training_start(struct training *training, struct problem *problem)
{
    const struct synthetic_options *options = training->options;
    struct hvd_optimizer_options how = {
        .op = options->adasum ? HVD_ADASUM : HVD_AVERAGE,
        .compression = options->compression,
        .equal_groups = (int)options->groups,
    };
    int count = options->model.count;
    if (hvd_optimizer_create(training->parameters, count, &how, update, training,
                             &training->optimizer) != HVD_OK)
        return problem_set(problem, EXIT_STATUS_DATA, "rank %d: making the optimizer: %s",
                           training->rank, hvd_last_error());
    if (hvd_broadcast_parameters(training->parameters, count, 0, 0) != HVD_OK)
        return problem_from_hvd(problem, "broadcasting the parameters");
    return 0;
}

/* The average of all ranks' i-th elements: one of them is `size` larger than in training_own(). */
static float expected_average(size_t i)
{
    return (float)(i % 4 + 1);
}

static float own_gradient(size_t i, int rank, int size)
{
    return (float)(i % 4) + (i % (size_t)size == (size_t)rank ? (float)size : 0);
}

void training_fill_gradients(struct training *training)
{
    for (size_t i = 0; i < training->elements; i++)
        training->gradients[i] = own_gradient(i, training->rank, training->size);
}

static int submit(struct training *training, int tensor, struct problem *problem)
{
    if (hvd_optimizer_ready(training->optimizer, tensor) != HVD_OK)
        return problem_from_hvd(problem, "reducing a gradient");
    return 0;
}

static int backwards(struct training *training, enum batch_kind kind, struct problem *problem)
{
    bool early = kind == BATCH_REDUCE || (kind == BATCH_WHOLE && !training->options->no_overlap);
    int last = training->options->model.count - 1;
    for (int i = last; i >= 0; i--) {
        if (kind != BATCH_REDUCE)
            compute_until(&training->compute, training->ready_at[i]);
        if (early && submit(training, i, problem) < 0)
            return -1;
    }
    for (int i = last; i >= 0 && kind == BATCH_WHOLE && !early; i--)
        if (submit(training, i, problem) < 0)
            return -1;
    return 0;
}

int training_batch(struct training *training, enum batch_kind kind, struct problem *problem)
{
    compute_begin(&training->compute);
    if (backwards(training, kind, problem) < 0)
        return -1;
    training->hold = kind == BATCH_REDUCE;
    if (kind == BATCH_COMPUTE)
        return update(training);
    if (hvd_optimizer_step(training->optimizer) != 0)
        return problem_from_hvd(problem, "a step of the optimizer");
    return 0;
}

/* Of each of `size` additions and of the multiplication at the end, in parts of the result. Whole
 * numbers below 2048 and 256 are exact. */
static double rounding(enum hvd_compression compression, int size)
{
    static const double bits[] = { [HVD_COMPRESSION_FP16] = 11, [HVD_COMPRESSION_BF16] = 8 };
    if (compression == HVD_COMPRESSION_NONE || 4 * size <= 1 << (int)bits[compression])
        return 0;
    return size * exp2(-bits[compression]);
}

int training_check_gradients(const struct training *training, struct problem *problem)
{
    const struct synthetic_options *options = training->options;
    int rank = training->rank, size = training->size;
    float tolerance = (float)rounding(options->compression, size);
    for (size_t i = 0; i < training->elements; i++) {
        float wanted = options->adasum ? own_gradient(i, rank, size) : expected_average(i);
        float got = training->gradients[i];
        if (!(fabsf(got - wanted) <= tolerance * wanted))
            return problem_set(problem, EXIT_STATUS_DATA,
                               "rank %d: gradient %zu is %g after the run, expected %g", rank, i,
                               (double)got, (double)wanted);
    }
    return 0;
}

void training_fini(struct training *training)
{
    hvd_optimizer_destroy(training->optimizer);
    free(training->gradients);
    free(training->values);
}
