/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a network of known size would be trained: the benchmark that Horovod's users know.
 *
 *     hvdrun -np 4 examples/synthetic_benchmark --model vgg16
 *
 * The ranks train without images. Computing a batch is sleeping or burning for as long as it would
 * take (synthetic_compute.h); the gradients are those of the network in number, size and order, and
 * are reduced while the rest is "computed", by hvd_optimizer.
 *
 *   options; memory; optimizer; rank 0's parameters to all ranks; batches to warm up;
 *   --num-iters times: batches as in training, some without reductions, some with nothing else;
 *   are the averages right, are the parameters the same on all ranks; numbers.
 *
 * Fails like every example for a mistake on the command line (status 2); with status 1 when there
 * is not enough memory, a rank is lost, an average is wrong, or the plot cannot be written. Ranks
 * whose parameters differ are a result too, `identical=no`, and status 1. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "examples/support/agreement.h"
#include "examples/support/curve.h"
#include "examples/support/plot.h"
#include "examples/support/program.h"
#include "examples/support/result.h"
#include "examples/synthetic_summary.h"
#include "examples/synthetic_training.h"
#include "hvd.h"

static const char program_name[] = "synthetic_benchmark";

struct benchmark {
    const struct synthetic_options *options;
    struct training training;
    struct iteration *iterations; /* owned */
};

/* A line on standard output, at once. */
static void say(const struct synthetic_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void say(const struct synthetic_options *options, const char *format, ...)
{
    if (options->quiet || !program_prints())
        return;
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    fflush(stdout);
}

static void announce(const struct benchmark *benchmark)
{
    const struct synthetic_options *options = benchmark->options;
    static const char *const kinds[] = { [COMPUTE_SLEEP] = "sleeps", [COMPUTE_BURN] = "burns" };
    double megabytes = 1e-6 * (double)benchmark->training.elements * sizeof(float);
    say(options, "Model: %s\n", options->model.name);
    say(options, "Batch size: %ld\n", options->batch_size);
    say(options, "Number of ranks: %d\n", benchmark->training.size);
    say(options, "Gradients: %d tensors, %.1f MB\n", options->model.count, megabytes);
    say(options, "Compute: %s %.1f ms for each batch\n", kinds[options->compute.kind],
        1e3 * options->compute.seconds);
}

/* Seconds for each of `count` batches, from when all ranks are there. */
static int time_batches(struct benchmark *benchmark, enum batch_kind kind, long count,
                        double *seconds, struct problem *problem)
{
    if (hvd_barrier() != HVD_OK)
        return problem_from_hvd(problem, "beginning together");
    double begin = program_seconds();
    for (long i = 0; i < count; i++)
        if (training_batch(&benchmark->training, kind, problem) < 0)
            return -1;
    *seconds = (program_seconds() - begin) / (double)count;
    return 0;
}

static int warm_up(struct benchmark *benchmark, struct problem *problem)
{
    double ignored;
    say(benchmark->options, "Running warmup...\n");
    long batches = benchmark->options->warmup_batches;
    return batches == 0 ? 0 : time_batches(benchmark, BATCH_WHOLE, batches, &ignored, problem);
}

/* Batches as they are, and a fifth as many of each of their halves. */
static int measure(struct benchmark *benchmark, struct iteration *iteration,
                   struct problem *problem)
{
    long batches = benchmark->options->batches_per_iter, fifth = (batches + 4) / 5;
    struct iteration mine;
    if (time_batches(benchmark, BATCH_WHOLE, batches, &mine.step, problem) < 0 ||
        time_batches(benchmark, BATCH_COMPUTE, fifth, &mine.alone, problem) < 0 ||
        time_batches(benchmark, BATCH_REDUCE, fifth, &mine.communication, problem) < 0)
        return -1;
    if (hvd_allreduce("times", &mine, iteration, sizeof mine / sizeof(double), HVD_FLOAT64,
                      HVD_AVERAGE) != HVD_OK)
        return problem_from_hvd(problem, "averaging the times");
    return 0;
}

static int iterate(struct benchmark *benchmark, struct problem *problem)
{
    const struct synthetic_options *options = benchmark->options;
    say(options, "Running benchmark...\n");
    for (long i = 0; i < options->iters; i++) {
        if (i == options->iters - 1 && training_fill_gradients(&benchmark->training, problem) < 0)
            return -1;
        if (measure(benchmark, &benchmark->iterations[i], problem) < 0)
            return -1;
        say(options, "Iter #%ld: %.1f img/sec per rank\n", i,
            (double)options->batch_size / benchmark->iterations[i].step);
    }
    return 0;
}

static void print_summary(const struct synthetic_options *options, const struct summary *summary,
                          int ranks)
{
    say(options, "Img/sec per rank: %.1f +-%.1f\n", summary->images_per_s, summary->margin);
    say(options, "Total img/sec on %d rank(s): %.1f +-%.1f\n", ranks, ranks * summary->images_per_s,
        ranks * summary->margin);
    say(options, "Step: %.1f ms\n", 1e3 * summary->step);
    say(options, "Compute and update alone: %.1f ms\n", 1e3 * summary->alone);
    say(options, "Communication alone: %.1f ms\n", 1e3 * summary->communication);
    say(options, "Hidden by overlap: %.1f ms, %.0f %% of the communication\n",
        1e3 * summary->hidden_s, 100 * summary->hidden);
    say(options, "Scaling efficiency: %.1f %% of a rank that reduces nothing\n",
        100 * summary->efficiency);
}

static int draw(const struct benchmark *benchmark, struct problem *problem)
{
    const struct synthetic_options *options = benchmark->options;
    if (options->plot == NULL || !program_prints())
        return 0;
    static struct curve rate;
    for (long i = 0; i < options->iters; i++)
        curve_add(&rate, (double)i, (double)options->batch_size / benchmark->iterations[i].step);
    struct plot_curve curve = { options->model.name, rate.x, rate.y, rate.count, false };
    struct plot plot = { .title = "Synthetic benchmark",
                         .x_label = "iteration",
                         .y_label = "images/s per rank",
                         .curves = &curve,
                         .curve_count = 1 };
    return plot_write(options->plot, &plot, problem);
}

static void print_result(const struct benchmark *benchmark, const struct summary *summary,
                         bool identical)
{
    int ranks = benchmark->training.size;
    struct result result;
    result_begin(&result);
    result_integer(&result, "ranks", ranks);
    result_text(&result, "model", benchmark->options->model.name);
    result_real(&result, "images_per_s", "%.1f", ranks * summary->images_per_s);
    result_real(&result, "efficiency", "%.4f", summary->efficiency);
    result_real(&result, "hidden", "%.4f", summary->hidden);
    result_yes_no(&result, "identical", identical);
    result_print(&result);
}

/* Returns the status to exit with, or -1 with a problem. */
static int report(struct benchmark *benchmark, struct problem *problem)
{
    const struct synthetic_options *options = benchmark->options;
    struct training *training = &benchmark->training;
    int identical = training_compare_parameters(training, problem);
    if (identical < 0)
        return -1;
    struct summary summary;
    summarize(&summary, benchmark->iterations, (size_t)options->iters, options->batch_size,
              training->size);
    print_summary(options, &summary, training->size);
    if (draw(benchmark, problem) == 0)
        print_result(benchmark, &summary, identical);
    program_flush(problem);
    int status = agree_to_go_on(program_name, problem);
    return status != 0 ? status : !identical;
}

static int run_ready(struct benchmark *benchmark, struct problem *problem)
{
    int status = agree_to_go_on(program_name, problem);
    if (status != 0)
        return status;
    if (training_start(&benchmark->training, problem) < 0)
        return -1;
    announce(benchmark);
    if (warm_up(benchmark, problem) < 0 || iterate(benchmark, problem) < 0) {
        problem->world_broke = true; /* the others are in the middle of a batch */
        return -1;
    }
    training_check_gradients(&benchmark->training, problem);
    if ((status = agree_to_go_on(program_name, problem)) != 0)
        return status;
    return report(benchmark, problem);
}

static int run(void *arg, struct problem *problem)
{
    static struct benchmark benchmark;
    benchmark.options = arg;
    benchmark.iterations = calloc((size_t)benchmark.options->iters, sizeof(struct iteration));
    if (benchmark.iterations == NULL)
        problem_nomem(problem);
    else
        training_init(&benchmark.training, benchmark.options, problem);
    int status = run_ready(&benchmark, problem);
    training_fini(&benchmark.training);
    free(benchmark.iterations);
    return status;
}

int main(int argc, char **argv)
{
    static struct synthetic_options options;
    options = synthetic_defaults;
    static const char summary[] =
        "Trains a network on no images, alone or under hvdrun, and tells how fast it would go.\n"
        "Parameters and gradients take 204 MB on each rank with resnet50, 356 with resnet101,\n"
        "217 with inception3, 1107 with vgg16; half as much again with --device.";
    const struct program program = {
        .name = program_name,
        .summary = summary,
        .rows = synthetic_option_rows,
        .row_count = synthetic_option_row_count,
        .options = &options,
        .help = &options.help,
        .check = synthetic_options_check,
        .run = run,
    };
    return program_main(&program, argc, argv);
}
