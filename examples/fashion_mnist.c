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
 * In an elastic job (hvdrun --min-np) the same training goes on when ranks are lost or added, from
 * the last commit, which is at most STEPS_PER_COMMIT steps old; see hvd_elastic.h. What the ranks
 * then have in common is in training_add_state(), and what each world begins with in
 * train_in_world().
 *
 * A mistake on the command line ends every rank with status 2; missing or damaged images, memory, a
 * checkpoint that cannot be written or gone on from, or output that cannot be written, with status
 * 1. The lowest rank that has the problem prints it, once. When a rank is lost, each that remains
 * says so and ends with status 1; not in an elastic job. Ranks whose parameters differ are a result
 * too, `identical=no`, and status 1. */
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

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
    int64_t steps;                   /* of this run */
    int64_t images;                  /* of this world, over all ranks */
    double seconds;                  /* spent on them */
    double accuracy;                 /* of the last test */
    bool identical;                  /* in the end all ranks have the same parameters */

    struct hvd_elastic_state *elastic; /* owned; NULL outside of elastic jobs */
    struct problem *problem;           /* of the elastic run at hand */
};

enum { STEPS_PER_COMMIT = 10 };

/* The ranks of this host share its cores, unless the user has set the number of threads, which
 * OpenBLAS reads itself. Returns the threads of each rank for matrix products. */
static int share_cores(void)
{
    cpu_set_t usable;
    int cores = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
    if (!getenv("OPENBLAS_NUM_THREADS") && !getenv("OMP_NUM_THREADS"))
        openblas_set_num_threads(cores / hvd_local_size() > 1 ? cores / hvd_local_size() : 1);
    return openblas_get_num_threads();
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
    if (fashion->elastic != NULL && training->rule.steps > 0)
        fprintf(out, "going on with world %d: epoch %" PRId64 ", after %" PRId64 " images\n",
                hvd_epoch(), training->state.epoch + 1, training->state.processed);
    if (options->resume && fashion->elastic == NULL)
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

static int commit(const struct fashion *fashion, struct problem *problem)
{
    int rc = fashion->elastic == NULL ? HVD_OK : hvd_elastic_commit(fashion->elastic);
    return rc == HVD_OK ? 0 : problem_from_hvd_status(problem, rc, "committing");
}

/* To the end of the epoch, or of what is wanted. */
static int train_epoch(struct fashion *fashion, struct problem *problem)
{
    struct training *training = &fashion->training;
    while (training->batch < training->batches && !is_over(fashion)) {
        if (step(fashion, problem) < 0)
            return -1;
        if (fashion->steps % STEPS_PER_COMMIT == 0 && commit(fashion, problem) < 0)
            return -1;
    }
    if (training->batch == training->batches)
        training_start_epoch(training, training->state.epoch + 1);
    if (test(fashion, problem) < 0)
        return -1;
    return fashion->elastic != NULL ? commit(fashion, problem) : training_save(training, problem);
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

static void print_result(const struct fashion *fashion)
{
    struct result result;
    double seconds = fashion->seconds > 0 ? fashion->seconds : 1;
    result_begin(&result);
    result_integer(&result, "ranks", fashion->training.size);
    result_integer(&result, "epochs", fashion->training.state.epoch);
    result_real(&result, "accuracy", "%.4f", fashion->accuracy);
    result_real(&result, "images_per_s", "%.0f", (double)fashion->images / seconds);
    result_yes_no(&result, "identical", fashion->identical);
    result_print(&result);
}

static int compare(struct fashion *fashion, struct problem *problem)
{
    const struct network *network = &fashion->training.network;
    int identical = agree_on_bytes(network->parameter_values,
                                   network->parameter_count * sizeof(float), problem);
    fashion->identical = identical == 1;
    return identical < 0 ? -1 : 0;
}

static void report(const struct fashion *fashion, struct problem *problem)
{
    if (draw(fashion, problem) == 0)
        print_result(fashion);
    program_flush(problem);
}

static int run_ready(struct fashion *fashion, struct problem *problem)
{
    int status = agree_to_go_on(program_name, problem);
    if (status != 0)
        return status;
    if (training_start(&fashion->training, problem) < 0)
        return -1;
    announce(fashion);
    if (train(fashion, problem) < 0 || compare(fashion, problem) < 0)
        return -1;
    report(fashion, problem);
    status = agree_to_go_on(program_name, problem);
    return status != 0 ? status : !fashion->identical;
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

/* ---- in an elastic job ---- */

/* For hvd_elastic_run(): with the state that the ranks share, in the world that there is. */
static int train_in_world(struct hvd_elastic_state *state, void *arg)
{
    struct fashion *fashion = arg;
    (void)state;
    *fashion->problem = (struct problem){ 0 }; /* that of the world before */
    fashion->images = 0;
    fashion->seconds = 0;
    training_enter_world(&fashion->training);
    announce(fashion);
    if (train(fashion, fashion->problem) < 0 || compare(fashion, fashion->problem) < 0)
        return fashion->problem->hvd_status;
    return HVD_OK;
}

static int make_state(struct fashion *fashion, struct problem *problem)
{
    const struct hvd_elastic_options options = { .checkpoint = fashion->options->checkpoint };
    const struct hvd_scalar steps = { "run.steps", &fashion->steps, HVD_INT64 };
    int rc = hvd_elastic_create(&options, &fashion->elastic);
    if (rc == HVD_OK)
        rc = training_add_state(&fashion->training, fashion->elastic);
    if (rc == HVD_OK)
        rc = hvd_elastic_add_values(fashion->elastic, &steps, 1);
    return rc == HVD_OK ? 0 : problem_from_hvd_status(problem, rc, "making the state");
}

/* A rank that the job will not have any more ends well. */
static int run_elastic_ready(struct fashion *fashion, struct problem *problem)
{
    if (make_state(fashion, problem) < 0)
        return -1;
    fashion->problem = problem;
    int rc = hvd_elastic_run(fashion->elastic, train_in_world, fashion);
    if (rc == HVD_ERR_REMOVED) {
        *problem = (struct problem){ 0 };
        return 0;
    }
    if (rc != HVD_OK)
        return problem_from_hvd_status(problem, rc, "training");
    report(fashion, problem);
    return !fashion->identical;
}

static int run_elastic(void *options, struct problem *problem)
{
    static struct fashion fashion;
    int status = -1;
    fashion.options = options;
    if (training_init(&fashion.training, options, problem) == 0)
        status = run_elastic_ready(&fashion, problem);
    hvd_elastic_destroy(fashion.elastic);
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
        .run_elastic = run_elastic,
    };
    return program_main(&program, argc, argv);
}
