/* SPDX-License-Identifier: Apache-2.0 */
/* Training a convolutional network on Fashion-MNIST, on as many ranks as there are:
 *
 *     hvdrun -np 2 -H localhost:2 examples/fashion_mnist --epochs 2
 *
 *   join the world, read the images, take over rank 0's parameters;
 *   for each step: gradients of this rank's batch, averaged over all ranks, one step of Adam with
 *   a learning rate that grows with the number of ranks; after each epoch: test, checkpoint;
 *   compare the ranks' parameters, print the result.
 *
 * A mistake on the command line ends every rank with status 2; missing or damaged images, memory,
 * or a checkpoint or output that cannot be written, with status 1. The lowest rank that has the
 * problem prints it, once. When a rank is lost, each that remains says so and ends with status 1.
 * Ranks whose parameters differ are a result too, `identical=no`, and status 1. */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <cblas.h>

#include "examples/fashion_data.h"
#include "examples/fashion_network.h"
#include "examples/fashion_options.h"
#include "examples/support/agreement.h"
#include "examples/support/progress.h"
#include "examples/support/sampler.h"
#include "hvd.h"

static const char program[] = "fashion_mnist";

struct training {
    struct fashion_options options;
    int rank, size;
    struct fashion_data data;
    struct network network;
    struct optimizer optimizer;
    struct sampler sampler;
    struct progress progress;
    float *pixels;         /* owned; of one batch */
    unsigned char *labels; /* owned; of one batch */
    double seconds;        /* spent in training steps */
    double accuracy;       /* of the last test */
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The ranks of this host share its cores. Returns the threads of each for matrix products. */
static int share_cores(void)
{
    cpu_set_t usable;
    int cores = sched_getaffinity(0, sizeof usable, &usable) == 0 ? CPU_COUNT(&usable) : 1;
    int threads = cores / hvd_local_size() > 1 ? cores / hvd_local_size() : 1;
    openblas_set_num_threads(threads);
    return threads;
}

/* Everything that this rank needs before it meets the others. */
static int prepare(struct training *training, struct problem *problem)
{
    const struct fashion_options *options = &training->options;
    if (fashion_data_read(&training->data, options->data, options->limit, options->test_limit,
                          problem) < 0)
        return -1;
    long global_batch = options->batch * training->size;
    if (training->data.train.count < global_batch)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "%ld training images, expected at least %ld: --batch x ranks",
                           training->data.train.count, global_batch);
    double learning_rate = options->learning_rate;
    if (learning_rate == 0)
        learning_rate = 0.001 * training->size;
    training->pixels = malloc((size_t)options->batch * IMAGE_PIXELS * sizeof(float));
    training->labels = malloc((size_t)options->batch);
    if (training->pixels == NULL || training->labels == NULL ||
        network_init(&training->network, (int)options->batch) < 0 ||
        optimizer_init(&training->optimizer, options->optimizer, training->network.parameter_count,
                       learning_rate) < 0 ||
        sampler_init(&training->sampler, training->data.train.count, options->batch, training->rank,
                     training->size, (uint64_t)options->seed) < 0)
        return problem_nomem(problem);
    return 0;
}

static void clean_up(struct training *training)
{
    sampler_fini(&training->sampler);
    optimizer_fini(&training->optimizer);
    network_fini(&training->network);
    free(training->labels);
    free(training->pixels);
    fashion_data_fini(&training->data);
}

/* Each rank draws its own parameters; then all take over those of rank 0. */
static int take_over_parameters(struct training *training, struct problem *problem)
{
    struct network *network = &training->network;
    network_randomize(network, (uint64_t)training->options.seed, (uint64_t)training->rank);
    for (int i = 0; i < NETWORK_TENSORS; i++) {
        struct tensor *tensor = &network->parameters[i];
        if (hvd_broadcast(tensor->name, tensor->values, tensor->count, HVD_FLOAT32, 0) != HVD_OK)
            return problem_from_hvd(problem, "broadcasting the parameters");
    }
    return 0;
}

static int average_gradients(struct network *network, struct problem *problem)
{
    for (int i = 0; i < NETWORK_TENSORS; i++) {
        struct tensor *tensor = &network->gradients[i];
        if (hvd_allreduce(tensor->name, tensor->values, tensor->values, tensor->count, HVD_FLOAT32,
                          HVD_AVERAGE) != HVD_OK)
            return problem_from_hvd(problem, "averaging the gradients");
    }
    return 0;
}

static void load_image(struct training *training, const struct idx_set *set, long image, int slot)
{
    fashion_data_pixels(set, image, training->pixels + slot * IMAGE_PIXELS);
    training->labels[slot] = set->labels[image];
}

static struct network_batch load_batch(struct training *training, long epoch, long step)
{
    const uint32_t *images = sampler_images(&training->sampler, step);
    for (int i = 0; i < training->options.batch; i++)
        load_image(training, &training->data.train, images[i], i);
    long position = epoch * training->data.train.count + sampler_position(&training->sampler, step);
    return (struct network_batch){
        .pixels = training->pixels,
        .labels = training->labels,
        .count = (int)training->options.batch,
        .dropout = !training->options.no_dropout,
        .seed = (uint64_t)training->options.seed,
        .dropout_index = (uint64_t)position,
    };
}

static int train_step(struct training *training, long epoch, long step, struct problem *problem)
{
    double begin = now();
    struct network_batch batch = load_batch(training, epoch, step);
    double loss = network_learn(&training->network, &batch);
    if (average_gradients(&training->network, problem) < 0)
        return -1;
    optimizer_step(&training->optimizer, training->network.parameter_values,
                   training->network.gradient_values);
    if (hvd_allreduce("loss", &loss, &loss, 1, HVD_FLOAT64, HVD_AVERAGE) != HVD_OK)
        return problem_from_hvd(problem, "averaging the loss");
    training->seconds += now() - begin;
    progress_step(&training->progress, epoch, step, loss, training->seconds);
    return 0;
}

/* This rank's share of the test images. */
static int64_t count_correct(struct training *training)
{
    long count = training->data.test.count, batch = training->options.batch;
    long end = shard_begin(count, training->rank + 1, training->size);
    int64_t correct = 0;
    for (long at = shard_begin(count, training->rank, training->size); at < end; at += batch) {
        int part = (int)(end - at < batch ? end - at : batch);
        for (int i = 0; i < part; i++)
            load_image(training, &training->data.test, at + i, i);
        correct +=
            network_count_correct(&training->network, training->pixels, training->labels, part);
    }
    return correct;
}

static int test(struct training *training, long epoch, struct problem *problem)
{
    int64_t correct = count_correct(training);
    if (hvd_allreduce("correct", &correct, &correct, 1, HVD_INT64, HVD_SUM) != HVD_OK)
        return problem_from_hvd(problem, "adding up the test results");
    training->accuracy = (double)correct / (double)training->data.test.count;
    if (training->progress.out != NULL)
        printf("epoch %ld/%ld  test accuracy %.4f: %" PRId64 " of %ld images\n", epoch + 1,
               training->options.epochs, training->accuracy, correct, training->data.test.count);
    return 0;
}

/* Returns 0, or the status to exit with, on every rank the same. */
static int train_epoch(struct training *training, long epoch, struct problem *problem)
{
    int rc = 0;
    sampler_shuffle(&training->sampler, epoch);
    for (long step = 0; step < sampler_steps(&training->sampler) && rc == 0; step++)
        rc = train_step(training, epoch, step, problem);
    if (rc == 0)
        rc = test(training, epoch, problem);
    if (rc == 0 && training->rank == 0 && training->options.checkpoint != NULL)
        checkpoint_write(training->options.checkpoint, training->network.parameters,
                         NETWORK_TENSORS, problem);
    return agree_to_go_on(program, problem);
}

static void announce(struct training *training)
{
    int threads = share_cores();
    const struct fashion_options *options = &training->options;
    long steps = sampler_steps(&training->sampler);
    FILE *out = training->rank == 0 && !options->quiet ? stdout : NULL;
    progress_init(&training->progress, out, options->epochs, steps,
                  options->batch * training->size);
    if (out == NULL)
        return;
    fprintf(out,
            "%s: %ld images, ranks %d x batch %ld, %s with learning rate %g, "
            "%d thread%s for each rank\n",
            program, training->data.train.count, training->size, options->batch,
            options->optimizer_name, training->optimizer.learning_rate, threads,
            threads == 1 ? "" : "s");
    fflush(out);
}

/* The last line, for scripts. Returns the status to exit with. */
static int report(struct training *training, struct problem *problem)
{
    int identical = agree_on_bytes(training->network.parameter_values,
                                   training->network.parameter_count * sizeof(float), problem);
    const struct fashion_options *options = &training->options;
    long images = options->epochs * training->progress.steps * training->progress.images;
    if (training->rank == 0 && identical >= 0) {
        printf("result ranks=%d epochs=%ld accuracy=%.4f images_per_s=%.0f identical=%s\n",
               training->size, options->epochs, training->accuracy,
               (double)images / training->seconds, identical ? "yes" : "no");
        if (fflush(stdout) != 0 || ferror(stdout))
            problem_set(problem, EXIT_STATUS_DATA, "standard output cannot be written");
    }
    int status = agree_to_go_on(program, problem);
    return status != 0 ? status : !identical;
}

static int run(struct training *training, struct problem *problem)
{
    int status = agree_to_go_on(program, problem);
    if (status != 0)
        return status;
    if (training->options.help) {
        if (training->rank == 0)
            fashion_options_print_help(stdout);
        return 0;
    }
    prepare(training, problem);
    if ((status = agree_to_go_on(program, problem)) != 0)
        return status;
    announce(training);
    if (take_over_parameters(training, problem) < 0)
        return agree_to_go_on(program, problem);
    for (long epoch = 0; epoch < training->options.epochs && status == 0; epoch++)
        status = train_epoch(training, epoch, problem);
    return status != 0 ? status : report(training, problem);
}

int main(int argc, char **argv)
{
    static struct training training;
    struct problem problem = { 0 };
    fashion_options_parse(&training.options, argc, argv, &problem);
    if (hvd_init() != HVD_OK) {
        fprintf(stderr, "%s: hvd_init: %s\n", program, hvd_last_error());
        return EXIT_STATUS_DATA;
    }
    training.rank = hvd_rank();
    training.size = hvd_size();
    int status = run(&training, &problem);
    hvd_shutdown();
    clean_up(&training);
    return status;
}
