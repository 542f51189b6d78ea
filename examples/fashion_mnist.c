/* SPDX-License-Identifier: Apache-2.0 */
/* Training a convolutional network on Fashion-MNIST, on as many ranks as there are:
 *
 *     hvdrun -np 2 -H localhost:2 examples/fashion_mnist --epochs 2
 *
 *   read the images; take over rank 0's parameters, or go on from a checkpoint;
 *   for each step: gradients of this rank's batch, averaged over all ranks, one step of Adam with a
 *   learning rate that grows with the number of ranks; after each epoch: test, checkpoint;
 *   compare the ranks' parameters, draw the plot, print the result.
 *
 * A mistake on the command line ends every rank with status 2; missing or damaged images, memory,
 * a checkpoint that cannot be written or gone on from, or output that cannot be written, with
 * status 1. The lowest rank that has the problem prints it, once. When a rank is lost, each that
 * remains says so and ends with status 1. Ranks whose parameters differ are a result too,
 * `identical=no`, and status 1. */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>

#include <cblas.h>

#include "examples/fashion_training.h"
#include "examples/support/curve.h"
#include "examples/support/plot.h"
#include "examples/support/program.h"
#include "examples/support/progress.h"
#include "examples/support/result.h"
#include "hvd.h"

static const char program_name[] = "fashion_mnist";

struct fashion {
    const struct fashion_options *options;
    struct training training;
    struct progress progress;
    struct curve losses, accuracies; /* by epochs */
    int64_t steps, images;           /* of this run, the images over all ranks */
    double seconds;                  /* spent in those steps */
    double accuracy;                 /* of the last test */
};

/* The ranks of this host share its cores. Returns the threads of each for matrix products. */
static int share_cores(void)
{
    cpu_set_t usable;
    int cores = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
    int threads = cores / hvd_local_size() > 1 ? cores / hvd_local_size() : 1;
    openblas_set_num_threads(threads);
    return threads;
}

static void announce(struct fashion *fashion)
{
    int threads = share_cores();
    const struct fashion_options *options = fashion->options;
    const struct training *training = &fashion->training;
    FILE *out = program_prints() && !options->quiet ? stdout : NULL;
    progress_init(&fashion->progress, out, options->epochs, training->batches,
                  options->batch * training->size);
    fashion->progress.before = training->state.epoch * training->batches + training->batch;
    if (out == NULL)
        return;
    fprintf(out,
            "%s: %ld images, ranks %d x batch %ld, %s with learning rate %g, "
            "%d thread%s for each rank\n",
            program_name, training->data.train.count, training->size, options->batch,
            options->optimizer_name, training->learning_rate, threads, threads == 1 ? "" : "s");
    if (options->resume)
        fprintf(out, "going on from %s: epoch %" PRId64 ", after %" PRId64 " images\n",
                options->checkpoint, training->state.epoch + 1, training->state.processed);
    fflush(out);
}

/* How far the training is, in epochs. */
static double epochs_passed(const struct training *training)
{
    return (double)training->state.epoch + (double)training->batch / (double)training->batches;
}

static int step(struct fashion *fashion, struct problem *problem)
{
    struct training *training = &fashion->training;
    double begin = program_seconds(), loss;
    int64_t images;
    if (training_step(training, &loss, &images, problem) < 0)
        return -1;
    fashion->seconds += program_seconds() - begin;
    fashion->images += images;
    fashion->steps++;
    curve_add(&fashion->losses, epochs_passed(training), loss);
    progress_step(&fashion->progress, training->state.epoch, training->batch - 1, loss,
                  fashion->seconds);
    return 0;
}

static bool is_over(const struct fashion *fashion)
{
    const struct fashion_options *options = fashion->options;
    return fashion->training.state.epoch >= options->epochs ||
           (options->steps > 0 && fashion->steps >= options->steps);
}

static int test(struct fashion *fashion, struct problem *problem)
{
    struct training *training = &fashion->training;
    if (training_test(training, &fashion->accuracy, problem) < 0)
        return -1;
    curve_add(&fashion->accuracies, epochs_passed(training), fashion->accuracy);
    if (fashion->progress.out == NULL)
        return 0;
    fprintf(fashion->progress.out, "epoch %.4g/%ld  test accuracy %.4f: %ld of %ld images\n",
            epochs_passed(training), fashion->options->epochs, fashion->accuracy,
            lround(fashion->accuracy * (double)training->data.test.count),
            training->data.test.count);
    fflush(fashion->progress.out); /* whether that worked is agreed on at the end */
    return 0;
}

/* To the end of the epoch, or of what is wanted. */
static int train_epoch(struct fashion *fashion, struct problem *problem)
{
    struct training *training = &fashion->training;
    while (training->batch < training->batches && !is_over(fashion))
        if (step(fashion, problem) < 0)
            return -1;
    if (training->batch == training->batches)
        training_start_epoch(training, training->state.epoch + 1);
    if (test(fashion, problem) < 0)
        return -1;
    return training_save(training, problem);
}

static int train(struct fashion *fashion, struct problem *problem)
{
    if (is_over(fashion)) /* before it has begun */
        return test(fashion, problem);
    while (!is_over(fashion))
        if (train_epoch(fashion, problem) < 0)
            return -1;
    return 0;
}

static int draw(const struct fashion *fashion, struct problem *problem)
{
    const char *path = fashion->options->plot;
    const struct plot_curve curves[] = {
        { "loss of training", fashion->losses.x, fashion->losses.y, fashion->losses.count, false },
        { "accuracy of tests", fashion->accuracies.x, fashion->accuracies.y,
          fashion->accuracies.count, true },
    };
    const struct plot plot = { .title = "Fashion-MNIST",
                               .x_label = "epochs",
                               .y_label = "loss, accuracy",
                               .curves = curves,
                               .curve_count = 2 };
    return path == NULL || !program_prints() ? 0 : plot_write(path, &plot, problem);
}

static void print_result(const struct fashion *fashion, bool identical)
{
    struct result result;
    double seconds = fashion->seconds > 0 ? fashion->seconds : 1;
    result_begin(&result);
    result_integer(&result, "ranks", fashion->training.size);
    result_integer(&result, "epochs", fashion->training.state.epoch);
    result_real(&result, "accuracy", "%.4f", fashion->accuracy);
    result_real(&result, "images_per_s", "%.0f", (double)fashion->images / seconds);
    result_yes_no(&result, "identical", identical);
    result_print(&result);
}

/* Returns the status to exit with, or -1 with a problem. */
static int report(const struct fashion *fashion, struct problem *problem)
{
    const struct network *network = &fashion->training.network;
    int identical = agree_on_bytes(network->parameter_values,
                                   network->parameter_count * sizeof(float), problem);
    if (identical < 0)
        return -1;
    if (draw(fashion, problem) == 0)
        print_result(fashion, identical);
    program_flush(problem);
    int status = agree_to_go_on(program_name, problem);
    return status != 0 ? status : !identical;
}

static int run_ready(struct fashion *fashion, struct problem *problem)
{
    int status = agree_to_go_on(program_name, problem);
    if (status != 0)
        return status;
    if (training_start(&fashion->training, problem) < 0)
        return -1;
    announce(fashion);
    return train(fashion, problem) < 0 ? -1 : report(fashion, problem);
}

static int run(void *options, struct problem *problem)
{
    static struct fashion fashion;
    fashion.options = options;
    training_init(&fashion.training, options, problem);
    int status = run_ready(&fashion, problem);
    training_fini(&fashion.training);
    return status;
}

int main(int argc, char **argv)
{
    static struct fashion_options options;
    options = fashion_defaults;
    const struct program program = {
        .name = program_name,
        .summary = "Trains a convolutional network on Fashion-MNIST, alone or under hvdrun.",
        .rows = fashion_option_rows,
        .row_count = fashion_option_row_count,
        .options = &options,
        .help = &options.help,
        .check = fashion_options_check,
        .run = run,
    };
    return program_main(&program, argc, argv);
}
