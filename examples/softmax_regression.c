/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax regression on Fashion-MNIST, on an accelerator whose memory the processor cannot touch:
 *
 *     hvdrun -np 2 -H localhost:2 examples/softmax_regression
 *
 *   read the images, create the accelerator and tell the library of it, take over rank 0's weights;
 *   for each step: the accelerator learns 32 batches of one image; when it passes an event, the
 *   library copies the gradients to the host, averages them over the ranks and copies them back;
 *   then a kernel goes one step down the gradients;
 *   test, write the checkpoint and the plot, compare the ranks' parameters, print the result.
 *
 * A mistake on the command line ends every rank with status 2; missing or damaged images, memory,
 * or a file that cannot be written, with status 1. The lowest rank that has the problem prints it,
 * once. When a rank is lost, or its accelerator fails, each that remains says so and ends with
 * status 1. Ranks whose parameters differ are a result too, `identical=no`, and status 1. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/fashion_data.h"
#include "examples/softmax_model.h"
#include "examples/softmax_options.h"
#include "examples/support/accelerator.h"
#include "examples/support/curve.h"
#include "examples/support/plot.h"
#include "examples/support/program.h"
#include "examples/support/result.h"
#include "hvd_training.h"

enum { ACCELERATOR_MEMORY = 64 << 20 };

struct training {
    const struct softmax_options *options;
    struct problem *problem;
    struct fashion_data data;
    struct accelerator *accelerator;
    int device; /* its number in the library */
    void *event;
    struct softmax_model model;
    struct hvd_parameter parameters[2];
    struct hvd_optimizer *optimizer;
    struct hvd_sampler *sampler;
    uint64_t epoch;
    uint64_t *images; /* owned; of one step */
    struct curve losses;
    double loss; /* of the last step */
    double accuracy;
};

static int create_accelerator(struct training *training, struct problem *problem)
{
    struct accelerator_options options = { .memory = ACCELERATOR_MEMORY,
                                           .bytes_per_second =
                                               (double)training->options->bandwidth };
    if (accelerator_create(&training->accelerator, &options, problem) < 0)
        return -1;
    const struct hvd_device *table = accelerator_table(training->accelerator);
    training->event = table->create_event(table->context);
    if (training->event == NULL)
        return problem_nomem(problem);
    training->device = hvd_register_device(table);
    return training->device < 0
               ? problem_set(problem, EXIT_STATUS_DATA, "hvd_register_device: %s", hvd_last_error())
               : 0;
}

/* The two tensors that are trained, in device memory. */
static void describe_parameters(struct training *training)
{
    static const int64_t dims[2] = { IMAGE_PIXELS, IMAGE_CLASSES };
    const struct softmax_model *model = &training->model;
    training->parameters[0] = (struct hvd_parameter){ .name = "weight",
                                                      .data = model->weight,
                                                      .gradient = model->d_weight,
                                                      .dtype = HVD_FLOAT32,
                                                      .ndims = 2,
                                                      .dims = dims,
                                                      .device = training->device };
    training->parameters[1] = (struct hvd_parameter){ .name = "bias",
                                                      .data = model->bias,
                                                      .gradient = model->d_bias,
                                                      .dtype = HVD_FLOAT32,
                                                      .ndims = 1,
                                                      .dims = dims + 1,
                                                      .device = training->device };
}

static int create_sampler(struct training *training, struct problem *problem)
{
    const struct softmax_options *options = training->options;
    struct hvd_sampler_options sampler = { .count = (uint64_t)training->data.train.count,
                                           .seed = (uint64_t)options->seed };
    if (hvd_sampler_create(&sampler, &training->sampler) != HVD_OK)
        return problem_set(problem, EXIT_STATUS_DATA, "hvd_sampler_create: %s", hvd_last_error());
    if (training->data.train.count < options->batches * hvd_size())
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "%ld training images, expected at least %ld: --batches x ranks",
                           training->data.train.count, options->batches * hvd_size());
    return 0;
}

/* Everything that this rank needs before it meets the others. */
static int prepare(struct training *training, struct problem *problem)
{
    const struct softmax_options *options = training->options;
    if (fashion_data_read(&training->data, options->data, 0, options->test_limit, problem) < 0 ||
        create_accelerator(training, problem) < 0 || create_sampler(training, problem) < 0)
        return -1;
    struct softmax_shape shape = { .batches = (int)options->batches,
                                   .learning_rate = options->learning_rate };
    if (softmax_model_init(&training->model, training->accelerator, &shape, problem) < 0)
        return -1;
    softmax_model_randomize(&training->model, (uint64_t)options->seed, (uint64_t)hvd_rank());
    describe_parameters(training);
    training->images = calloc((size_t)options->batches, sizeof *training->images);
    return training->images == NULL ? problem_nomem(problem) : 0;
}

static void clean_up(struct training *training)
{
    hvd_optimizer_destroy(training->optimizer);
    hvd_sampler_destroy(training->sampler);
    softmax_model_fini(&training->model);
    if (training->device > 0)
        hvd_unregister_device(training->device);
    if (training->event != NULL) {
        const struct hvd_device *table = accelerator_table(training->accelerator);
        table->destroy_event(table->context, training->event);
    }
    accelerator_destroy(training->accelerator);
    free(training->images);
    fashion_data_fini(&training->data);
}

/* What the optimizer calls when the gradients are those of all ranks. */
static int update(void *arg)
{
    struct training *training = arg;
    return softmax_model_update(&training->model, training->problem);
}

/* Each rank has drawn its own weights; all take over those of rank 0. The gradients are one group:
 * they are ready at the same event, and what is always reduced together is the same to the bit in
 * every run. */
static int create_optimizer(struct training *training, struct problem *problem)
{
    struct hvd_optimizer_options options = { .equal_groups = 1 };
    if (hvd_optimizer_create(training->parameters, 2, &options, update, training,
                             &training->optimizer) != HVD_OK)
        return problem_from_hvd(problem, "creating the optimizer");
    if (hvd_broadcast_parameters(training->parameters, 2, 0, 0) != HVD_OK)
        return problem_from_hvd(problem, "broadcasting the parameters");
    return 0;
}

/* This rank's images of the next step. What does not fill a last step of an epoch is left out. */
static const uint64_t *next_images(struct training *training)
{
    size_t batches = (size_t)training->options->batches;
    if (hvd_sampler_left(training->sampler) < batches)
        hvd_sampler_start_epoch(training->sampler, ++training->epoch);
    hvd_sampler_next(training->sampler, training->images, batches);
    return training->images;
}

/* The other ranks are waiting for this one's gradients. */
static int give_up(struct problem *problem)
{
    problem->world_broke = true;
    return -1;
}

static int train_step(struct training *training, long step, struct problem *problem)
{
    if (softmax_model_learn(&training->model, &training->data.train, next_images(training),
                            training->event, problem) < 0)
        return give_up(problem);
    for (int i = 0; i < 2; i++)
        if (hvd_optimizer_ready_after(training->optimizer, i, training->event) != HVD_OK)
            return problem_from_hvd(problem, "submitting the gradients");
    if (hvd_optimizer_step(training->optimizer) != 0)
        return problem_from_hvd(problem, "averaging the gradients");
    struct hvd_metric loss = { "loss", softmax_model_loss(&training->model) };
    if (hvd_average_metrics(&loss, 1, 0) != HVD_OK)
        return problem_from_hvd(problem, "averaging the loss");
    training->loss = loss.value;
    curve_add(&training->losses, (double)step + 1, loss.value);
    if (program_prints() && !training->options->quiet)
        printf("%4ld  %8.4f\n", step + 1, loss.value);
    return 0;
}

static void announce(const struct training *training)
{
    const struct softmax_options *options = training->options;
    if (!program_prints() || options->quiet)
        return;
    printf("softmax_regression: %ld images, ranks %d x %ld batches of 1, learning rate %g\n",
           training->data.train.count, hvd_size(), options->batches, options->learning_rate);
    printf("step      loss\n");
}

/* Each rank tests its share of the images. */
static int test(struct training *training, struct problem *problem)
{
    const struct idx_set *set = &training->data.test;
    long begin = (long)(set->count * hvd_rank() / hvd_size());
    long end = (long)(set->count * (hvd_rank() + 1) / hvd_size());
    int64_t correct = softmax_model_count_correct(&training->model, set, begin, end, problem);
    if (correct < 0)
        return give_up(problem);
    if (hvd_allreduce("correct", &correct, &correct, 1, HVD_INT64, HVD_SUM) != HVD_OK)
        return problem_from_hvd(problem, "adding up the test results");
    training->accuracy = (double)correct / (double)set->count;
    if (program_prints() && !training->options->quiet)
        printf("test accuracy %.4f: %" PRId64 " of %ld images; copied to and from the host: "
               "%zu bytes\n",
               training->accuracy, correct, set->count,
               accelerator_bytes_copied(training->accelerator));
    return 0;
}

static void write_plot(const struct training *training, struct problem *problem)
{
    struct plot_curve curve = { .label = "training loss",
                                .x = training->losses.x,
                                .y = training->losses.y,
                                .count = training->losses.count };
    struct plot plot = { .title = "softmax regression",
                         .x_label = "step",
                         .y_label = "loss",
                         .curves = &curve,
                         .curve_count = 1 };
    if (training->options->plot != NULL && program_prints())
        plot_write(training->options->plot, &plot, problem);
}

static int write_checkpoint(const struct training *training, struct problem *problem)
{
    struct hvd_checkpoint checkpoint = { .tensors = training->parameters, .ntensors = 2 };
    if (training->options->checkpoint == NULL)
        return 0;
    if (hvd_checkpoint_save(training->options->checkpoint, &checkpoint, 0) != HVD_OK)
        return problem_set(problem, EXIT_STATUS_DATA, "%s", hvd_last_error());
    return 0;
}

/* The last line, for scripts. Returns the status to exit with. */
static int report(const struct training *training, struct problem *problem)
{
    static float values[SOFTMAX_VALUES];
    softmax_model_read(&training->model, values);
    int identical = agree_on_bytes(values, sizeof values, problem);
    struct result result;
    result_begin(&result);
    result_integer(&result, "ranks", hvd_size());
    result_integer(&result, "steps", training->options->steps);
    result_real(&result, "loss", "%.4f", training->loss);
    result_real(&result, "accuracy", "%.4f", training->accuracy);
    result_yes_no(&result, "identical", identical > 0);
    if (identical >= 0)
        result_print(&result);
    program_flush(problem);
    int status = agree_to_go_on("softmax_regression", problem);
    return status != 0 ? status : identical == 0;
}

static int train(struct training *training, struct problem *problem)
{
    prepare(training, problem);
    int status = agree_to_go_on("softmax_regression", problem);
    if (status != 0)
        return status;
    announce(training);
    if (create_optimizer(training, problem) < 0)
        return -1;
    for (long step = 0; step < training->options->steps; step++)
        if (train_step(training, step, problem) < 0)
            return -1;
    if (test(training, problem) < 0 || write_checkpoint(training, problem) < 0)
        return -1;
    write_plot(training, problem);
    status = agree_to_go_on("softmax_regression", problem);
    return status != 0 ? status : report(training, problem);
}

static int run(void *options, struct problem *problem)
{
    struct training training = { .options = options, .problem = problem };
    int status = train(&training, problem);
    clean_up(&training);
    return status;
}

int main(int argc, char **argv)
{
    struct softmax_options options = softmax_defaults;
    const struct program program = {
        .name = "softmax_regression",
        .summary = "Trains softmax regression on Fashion-MNIST, on a simulated accelerator.",
        .rows = softmax_option_rows,
        .row_count = softmax_option_row_count,
        .options = &options,
        .help = &options.help,
        .run = run,
    };
    return program_main(&program, argc, argv);
}
