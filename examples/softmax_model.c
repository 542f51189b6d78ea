/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of softmax regression on an accelerator: allocate, write the images there, put
 * kernels on its queue, read what they found.
 *
 * Fails when host or accelerator have no memory left, or the accelerator refuses a kernel. */
#include "examples/softmax_model.h"

#include <math.h>
#include <stdlib.h>

#include "examples/softmax_kernels.h"
#include "examples/support/random.h"

/* Device memory; leaves a problem if there is none. */
static void *take(struct accelerator *accelerator, size_t nbytes, struct problem *problem)
{
    void *memory = accelerator_alloc(accelerator, nbytes);
    if (memory == NULL)
        problem_set(problem, EXIT_STATUS_DATA, "the accelerator has no memory for %zu bytes",
                    nbytes);
    return memory;
}

static int take_device_memory(struct softmax_model *model, size_t batches, struct problem *problem)
{
    struct accelerator *accelerator = model->accelerator;
    model->weight = take(accelerator, SOFTMAX_WEIGHTS * sizeof *model->weight, problem);
    model->bias = take(accelerator, IMAGE_CLASSES * sizeof *model->bias, problem);
    model->d_weight = take(accelerator, SOFTMAX_WEIGHTS * sizeof *model->d_weight, problem);
    model->d_bias = take(accelerator, IMAGE_CLASSES * sizeof *model->d_bias, problem);
    model->pixels = take(accelerator, batches * IMAGE_PIXELS * sizeof *model->pixels, problem);
    model->labels = take(accelerator, batches * sizeof *model->labels, problem);
    model->loss = take(accelerator, sizeof *model->loss, problem);
    model->correct = take(accelerator, sizeof *model->correct, problem);
    return model->correct == NULL || problem->exit_status != 0 ? -1 : 0;
}

int softmax_model_init(struct softmax_model *model, struct accelerator *accelerator,
                       const struct softmax_shape *shape, struct problem *problem)
{
    size_t batches = (size_t)shape->batches;
    *model = (struct softmax_model){ .shape = *shape, .accelerator = accelerator };
    model->host_pixels = calloc(batches * IMAGE_PIXELS, sizeof *model->host_pixels);
    model->host_labels = calloc(batches, sizeof *model->host_labels);
    model->arguments = calloc(batches, sizeof *model->arguments);
    if (!model->host_pixels || !model->host_labels || !model->arguments)
        return problem_nomem(problem);
    return take_device_memory(model, batches, problem);
}

/* Box and Muller's way from two uniform numbers to a normal one. */
static float draw_normal(struct random_stream *stream)
{
    double radius = sqrt(-2 * log(1 - (double)random_uniform(stream, 0, 1)));
    return (float)(radius * cos(2 * M_PI * (double)random_uniform(stream, 0, 1)));
}

void softmax_model_randomize(struct softmax_model *model, uint64_t seed, uint64_t index)
{
    float weight[SOFTMAX_WEIGHTS], bias[IMAGE_CLASSES] = { 0 };
    struct random_stream stream;
    random_start(&stream, seed, RANDOM_INITIAL, index);
    for (int i = 0; i < SOFTMAX_WEIGHTS; i++)
        weight[i] = draw_normal(&stream);
    accelerator_write(model->accelerator, model->weight, weight, sizeof weight);
    accelerator_write(model->accelerator, model->bias, bias, sizeof bias);
}

/* One image, on its way to a place in the accelerator's memory. */
static void stage(struct softmax_model *model, const struct idx_set *set, long image, int place)
{
    fashion_data_pixels(set, image, model->host_pixels + (size_t)place * IMAGE_PIXELS);
    model->host_labels[place] = set->labels[image];
}

static void write_staged(struct softmax_model *model, size_t count)
{
    accelerator_write(model->accelerator, model->pixels, model->host_pixels,
                      count * IMAGE_PIXELS * sizeof *model->pixels);
    accelerator_write(model->accelerator, model->labels, model->host_labels,
                      count * sizeof *model->labels);
}

/* Puts a kernel on the accelerator; with the first problem nothing more is put there. */
static void launch(struct softmax_model *model, accelerator_kernel_fn *kernel, void *arg,
                   struct problem *problem)
{
    int rc = problem->exit_status == 0 ? accelerator_run(model->accelerator, kernel, arg) : 0;
    if (rc < 0)
        problem_set(problem, EXIT_STATUS_DATA, "the accelerator refuses a kernel: %d", rc);
}

/* Likewise, for `count` images from place `first` on. The arguments of place `first` are theirs. */
static void launch_on_images(struct softmax_model *model, accelerator_kernel_fn *kernel, int first,
                             int count, struct problem *problem)
{
    struct softmax_kernel_images *arguments = &model->arguments[first];
    *arguments = (struct softmax_kernel_images){ model, first, count };
    launch(model, kernel, arguments, problem);
}

int softmax_model_learn(struct softmax_model *model, const struct idx_set *set,
                        const uint64_t *images, void *event, struct problem *problem)
{
    int batches = model->shape.batches;
    for (int i = 0; i < batches; i++)
        stage(model, set, (long)images[i], i);
    write_staged(model, (size_t)batches);
    launch(model, softmax_kernel_clear, model, problem);
    for (int i = 0; i < batches; i++)
        launch_on_images(model, softmax_kernel_learn, i, 1, problem);
    if (problem->exit_status == 0 && accelerator_record(model->accelerator, event) < 0)
        problem_set(problem, EXIT_STATUS_DATA, "the accelerator refuses an event");
    return problem->exit_status == 0 ? 0 : -1;
}

int softmax_model_update(struct softmax_model *model, struct problem *problem)
{
    launch(model, softmax_kernel_update, model, problem);
    return problem->exit_status == 0 ? 0 : -1;
}

double softmax_model_loss(struct softmax_model *model)
{
    double loss;
    accelerator_read(model->accelerator, &loss, model->loss, sizeof loss);
    return loss / model->shape.batches;
}

/* As many images at a time as there is room for. */
int64_t softmax_model_count_correct(struct softmax_model *model, const struct idx_set *set,
                                    long begin, long end, struct problem *problem)
{
    int64_t correct;
    launch(model, softmax_kernel_clear, model, problem);
    for (long image = begin; image < end;) {
        int count = 0;
        while (count < model->shape.batches && image < end)
            stage(model, set, image++, count++);
        write_staged(model, (size_t)count);
        launch_on_images(model, softmax_kernel_test, 0, count, problem);
    }
    accelerator_read(model->accelerator, &correct, model->correct, sizeof correct);
    return problem->exit_status == 0 ? correct : -1;
}

void softmax_model_read(const struct softmax_model *model, float *values)
{
    accelerator_read(model->accelerator, values, model->weight, SOFTMAX_WEIGHTS * sizeof *values);
    accelerator_read(model->accelerator, values + SOFTMAX_WEIGHTS, model->bias,
                     IMAGE_CLASSES * sizeof *values);
}

void softmax_model_fini(struct softmax_model *model)
{
    if (model->accelerator == NULL)
        return;
    accelerator_synchronize(model->accelerator);
    void *const taken[] = { model->weight, model->bias,   model->d_weight, model->d_bias,
                            model->pixels, model->labels, model->loss,     model->correct };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        accelerator_free(model->accelerator, taken[i]);
    free(model->arguments);
    free(model->host_labels);
    free(model->host_pixels);
    *model = (struct softmax_model){ 0 };
}
