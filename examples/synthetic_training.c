/* SPDX-License-Identifier: Apache-2.0 */
/* Batches, gradients and updates; see synthetic_training.h. Fails when there is not enough memory,
 * when a call of the library fails, when the accelerator does, and when an average is wrong. */
#include "examples/synthetic_training.h"

#include <math.h>
#include <stdlib.h>

#include "examples/support/agreement.h"
#include "examples/support/random.h"
#include "hvd_training.h"

static const float learning_rate = 0.01F;

/* ---- kernels ---- */

static void randomize(struct accelerator *accelerator, void *arg)
{
    const struct training *training = arg;
    float *values = machine_pointer(accelerator, training->values);
    struct random_stream stream;
    random_start(&stream, (uint64_t)training->options->seed, RANDOM_INITIAL,
                 (uint64_t)training->rank);
    for (size_t i = 0; i < training->elements; i++)
        values[i] = random_uniform(&stream, -1, 1);
}

/* Of the i-th elements of all ranks one is larger by their number. 32 bits are enough for the
 * models there are, and quicker to divide. */
static float own_gradient(size_t i, int rank, int size)
{
    bool larger = (uint32_t)i % (uint32_t)size == (uint32_t)rank;
    return (float)(i % 4) + (larger ? (float)size : 0);
}

static float average_gradient(size_t i)
{
    return (float)(i % 4 + 1);
}

static void fill(struct accelerator *accelerator, void *arg)
{
    const struct training *training = arg;
    float *gradients = machine_pointer(accelerator, training->gradients);
    for (size_t i = 0; i < training->elements; i++)
        gradients[i] = own_gradient(i, training->rank, training->size);
}

static void compute(struct accelerator *accelerator, void *arg)
{
    (void)accelerator;
    const struct part *part = arg;
    compute_until(part->compute, part->until);
}

/* Stochastic gradient descent, as long a way for a rate of 0. */
static void descend(struct accelerator *accelerator, void *arg)
{
    const struct training *training = arg;
    float *restrict values = machine_pointer(accelerator, training->values);
    const float *restrict gradients = machine_pointer(accelerator, training->gradients);
    const float rate = training->rate;
    for (size_t i = 0; i < training->elements; i++)
        values[i] -= rate * gradients[i];
}

/* ---- what the processor does ---- */

static int run_and_wait(struct training *training, accelerator_kernel_fn *kernel,
                        struct problem *problem)
{
    int rc = machine_run(&training->machine, kernel, training, problem);
    machine_wait(&training->machine);
    return rc;
}

static void place_tensors(struct training *training)
{
    const struct model *model = &training->options->model;
    double ready_at[MODEL_TENSORS_MAX];
    compute_schedule(model, training->compute.seconds, ready_at);
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
            .device = training->machine.device,
        };
        training->parts[i] = (struct part){ &training->compute, ready_at[i] };
        at += (size_t)model_tensor_elements(tensor);
    }
}

static int take_memory(struct training *training, struct problem *problem)
{
    const struct synthetic_options *options = training->options;
    size_t nbytes = training->elements * sizeof(float), alignment = 4096;
    if (machine_init(&training->machine, options->device, 2 * (nbytes + alignment),
                     options->model.count, problem) < 0)
        return -1;
    training->values = machine_alloc(&training->machine, training->elements);
    training->gradients = machine_alloc(&training->machine, training->elements);
    if (options->device)
        training->copy = malloc(nbytes);
    if (training->values && training->gradients && (training->copy || !options->device))
        return 0;
    return problem_set(problem, EXIT_STATUS_DATA,
                       "out of memory: %s needs %zu MB on each rank for parameters and gradients "
                       "(--shrink takes less)",
                       options->model.name, 2 * nbytes / 1000000);
}

int training_init(struct training *training, const struct synthetic_options *options,
                  struct problem *problem)
{
    *training = (struct training){
        .options = options,
        .rank = hvd_rank(),
        .size = hvd_size(),
        .elements = (size_t)model_elements(&options->model),
        .compute = options->compute,
    };
    if (take_memory(training, problem) < 0)
        return -1;
    place_tensors(training);
    if (run_and_wait(training, randomize, problem) < 0)
        return -1;
    return training_fill_gradients(training, problem);
}

static int update(void *arg)
{
    struct training *training = arg;
    return training->hold ? 0 : run_and_wait(training, descend, training->problem);
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

int training_fill_gradients(struct training *training, struct problem *problem)
{
    return run_and_wait(training, fill, problem);
}

/* An accelerator has all of it on its queue at once, and what is ready is ready after its events;
 * without overlap the queue is empty before. */
static int backwards(struct training *training, enum batch_kind kind, struct problem *problem)
{
    struct machine *machine = &training->machine;
    bool early = kind == BATCH_REDUCE || (kind == BATCH_WHOLE && !training->options->no_overlap);
    bool late = kind == BATCH_WHOLE && !early;
    int last = training->options->model.count - 1, rc = 0;
    for (int i = last; i >= 0 && rc == 0; i--) {
        if (kind != BATCH_REDUCE)
            rc = machine_run(machine, compute, &training->parts[i], problem);
        if (early && rc == 0)
            rc = machine_ready(machine, training->optimizer, i, problem);
    }
    if (!early)
        machine_wait(machine);
    for (int i = last; i >= 0 && late && rc == 0; i--)
        rc = machine_ready(machine, training->optimizer, i, problem);
    return rc;
}

int training_batch(struct training *training, enum batch_kind kind, struct problem *problem)
{
    training->rate = kind == BATCH_WHOLE ? learning_rate : 0;
    compute_begin(&training->compute);
    int rc = backwards(training, kind, problem);
    if (rc == 0 && kind == BATCH_COMPUTE)
        rc = run_and_wait(training, descend, problem);
    if (rc < 0 || kind == BATCH_COMPUTE)
        return rc;
    training->hold = kind == BATCH_REDUCE;
    training->problem = problem;
    if (hvd_optimizer_step(training->optimizer) != 0)
        return problem_from_hvd(problem, "a step of the optimizer");
    return 0;
}

/* Of each of `size` additions and of the multiplication at the end, in parts of the result. Whole
 * numbers of no more bits are exact. */
static double rounding(enum hvd_compression compression, int size)
{
    static const int bits[] = { [HVD_COMPRESSION_FP16] = 11, [HVD_COMPRESSION_BF16] = 8 };
    if (compression == HVD_COMPRESSION_NONE || 4 * size <= 1 << bits[compression])
        return 0;
    return ldexp(size, -bits[compression]);
}

/* Values or gradients, for the processor, until the next call. */
static const float *read_tensors(struct training *training, const float *memory)
{
    if (training->copy == NULL)
        return memory;
    machine_read(&training->machine, training->copy, memory, training->elements);
    return training->copy;
}

int training_check_gradients(struct training *training, struct problem *problem)
{
    const struct synthetic_options *options = training->options;
    const float *gradients = read_tensors(training, training->gradients);
    int rank = training->rank, size = training->size;
    float tolerance = (float)rounding(options->compression, size);
    for (size_t i = 0; i < training->elements; i++) {
        float wanted = options->adasum ? own_gradient(i, rank, size) : average_gradient(i);
        if (!(fabsf(gradients[i] - wanted) <= tolerance * wanted))
            return problem_set(problem, EXIT_STATUS_DATA,
                               "rank %d: gradient %zu is %g after the run, expected %g", rank, i,
                               (double)gradients[i], (double)wanted);
    }
    return 0;
}

int training_compare_parameters(struct training *training, struct problem *problem)
{
    const float *values = read_tensors(training, training->values);
    return agree_on_bytes(values, training->elements * sizeof *values, problem);
}

void training_fini(struct training *training)
{
    hvd_optimizer_destroy(training->optimizer);
    machine_free(&training->machine, training->gradients);
    machine_free(&training->machine, training->values);
    machine_fini(&training->machine);
    free(training->copy);
}
