/* SPDX-License-Identifier: Apache-2.0 */
/* Training, as each rank does it:
 *
 *   init:  images, network, sampler: everything that can go wrong on one rank alone
 *   start: optimizer; the state of rank 0, or of the checkpoint, to all
 *   step:  the sampler's next images; forwards; backwards, and each gradient goes out when it is
 *          ready; the optimizer waits for them all, and then makes its step
 *   test:  every rank has its share of the test images
 *
 * Fails when there are no images or no memory, the checkpoint cannot be read or written, or a rank
 * is lost. */
#include "examples/fashion_training.h"

#include <stdlib.h>

#include "examples/support/agreement.h"

/* ---- init ---- */

/* The batch needs memory; the images must be there first. */
static int make_room(struct training *training)
{
    size_t batch = (size_t)training->options->batch;
    training->images = calloc(batch, sizeof *training->images);
    training->draws = calloc(batch, sizeof *training->draws);
    training->pixels = calloc(batch * IMAGE_PIXELS, sizeof *training->pixels);
    training->labels = calloc(batch, sizeof *training->labels);
    if (training->images == NULL || training->draws == NULL || training->pixels == NULL ||
        training->labels == NULL || network_init(&training->network, (int)batch) < 0)
        return -1;
    return optimizer_init(&training->rule, training->options->optimizer,
                          training->network.parameter_count);
}

static int make_sampler(struct training *training, struct problem *problem)
{
    const struct hvd_sampler_options options = {
        .count = (uint64_t)training->data.train.count,
        .seed = (uint64_t)training->options->seed,
    };
    if (hvd_sampler_create(&options, &training->sampler) != HVD_OK)
        return problem_set(problem, EXIT_STATUS_DATA, "%s", hvd_last_error());
    return 0;
}

static void take_place(struct training *training)
{
    training->rank = hvd_rank();
    training->size = hvd_size();
    training->learning_rate = training->options->learning_rate;
    if (training->learning_rate == 0)
        training->learning_rate = 0.001 * training->size;
}

int training_init(struct training *training, const struct fashion_options *options,
                  struct problem *problem)
{
    *training = (struct training){ .options = options };
    take_place(training);
    if (fashion_data_read(&training->data, options->data, options->limit, options->test_limit,
                          problem) < 0)
        return -1;
    if (make_room(training) < 0)
        return problem_nomem(problem);
    fashion_state_init(&training->state, &training->network, &training->rule);
    return make_sampler(training, problem);
}

void training_fini(struct training *training)
{
    hvd_optimizer_destroy(training->optimizer);
    hvd_sampler_destroy(training->sampler);
    optimizer_fini(&training->rule);
    network_fini(&training->network);
    free(training->labels);
    free(training->pixels);
    free(training->draws);
    free(training->images);
    fashion_data_fini(&training->data);
}

/* ---- start ---- */

/* Called by hvd_optimizer_step() when all gradients have been averaged. */
static int update(void *arg)
{
    struct training *training = arg;
    const struct hvd_batch batch = { training->state.epoch, training->batch, training->batches };
    training->rule.learning_rate = hvd_warmup_rate(
        training->learning_rate, training->options->warmup_epochs, training->size, batch);
    optimizer_step(&training->rule, training->network.parameter_values,
                   training->network.gradient_values);
    return 0;
}

/* Where in the epoch this is. Also with another number of ranks than before, a batch is what all
 * ranks now take at once. */
static void count_batches(struct training *training)
{
    int64_t batch = training->options->batch, left = (int64_t)hvd_sampler_left(training->sampler);
    training->batch = training->state.processed / (batch * training->size);
    training->batches = training->batch + (left + batch - 1) / batch;
}

static int resume(struct training *training, struct problem *problem)
{
    const char *file = training->options->checkpoint;
    struct fashion_state *state = &training->state;
    if (fashion_state_restore(state, file, problem) < 0)
        return -1;
    if (hvd_sampler_resume(training->sampler, (uint64_t)state->epoch, (uint64_t)state->processed) !=
        HVD_OK)
        return problem_set(problem, EXIT_STATUS_DATA, "%s: %s", file, hvd_last_error());
    count_batches(training);
    return 0;
}

/* Each rank draws its own parameters, until all have those of one. */
static void draw_parameters(struct training *training)
{
    network_randomize(&training->network, (uint64_t)training->options->seed,
                      (uint64_t)training->rank);
}

static int begin(struct training *training, struct problem *problem)
{
    draw_parameters(training);
    training_start_epoch(training, 0);
    return fashion_state_broadcast(&training->state, problem);
}

int training_start(struct training *training, struct problem *problem)
{
    if (hvd_optimizer_create(training->network.tensors, NETWORK_TENSORS, NULL, update, training,
                             &training->optimizer) != HVD_OK)
        return problem_from_hvd(problem, "making the optimizer");
    return training->options->resume ? resume(training, problem) : begin(training, problem);
}

int training_add_state(struct training *training, struct hvd_elastic_state *elastic)
{
    struct fashion_state *state = &training->state;
    struct network *network = &training->network;
    draw_parameters(training);
    int rc = hvd_elastic_add_optimizer(elastic, network->tensors, NETWORK_TENSORS, NULL, update,
                                       training, &training->optimizer);
    if (rc == HVD_OK && state->tensor_count > NETWORK_TENSORS)
        rc = hvd_elastic_add_parameters(elastic, state->tensors + NETWORK_TENSORS,
                                        state->tensor_count - NETWORK_TENSORS);
    if (rc == HVD_OK)
        rc = hvd_elastic_add_values(elastic, state->scalars, FASHION_SCALARS);
    return rc == HVD_OK ? hvd_elastic_add_sampler(elastic, "images", training->sampler) : rc;
}

void training_enter_world(struct training *training)
{
    take_place(training);
    count_batches(training);
}

void training_start_epoch(struct training *training, int64_t epoch)
{
    hvd_sampler_start_epoch(training->sampler, (uint64_t)epoch);
    training->state.epoch = epoch;
    training->state.processed = 0;
    count_batches(training);
}

int training_save(struct training *training, struct problem *problem)
{
    const char *file = training->options->checkpoint;
    return file == NULL ? 0 : fashion_state_save(&training->state, file, problem);
}

/* ---- step ---- */

static void load_image(struct training *training, const struct idx_set *set, long image, int slot)
{
    fashion_data_pixels(set, image, training->pixels + slot * IMAGE_PIXELS);
    training->labels[slot] = set->labels[image];
}

/* An image has one dropout mask in each epoch, whichever rank has the image. */
static struct network_batch load_batch(struct training *training)
{
    const struct idx_set *set = &training->data.train;
    size_t count =
        hvd_sampler_next(training->sampler, training->images, (size_t)training->options->batch);
    for (size_t i = 0; i < count; i++) {
        load_image(training, set, (long)training->images[i], (int)i);
        training->draws[i] =
            (uint64_t)training->state.epoch * (uint64_t)set->count + training->images[i];
    }
    return (struct network_batch){
        .pixels = training->pixels,
        .labels = training->labels,
        .count = (int)count,
        .dropout = !training->options->no_dropout,
        .seed = (uint64_t)training->options->seed,
        .draws = training->draws,
    };
}

static void on_ready(void *arg, int tensor)
{
    struct training *training = arg;
    int rc = hvd_optimizer_ready(training->optimizer, tensor);
    if (rc != HVD_OK)
        problem_from_hvd_status(training->problem, rc, "averaging a gradient");
}

int training_step(struct training *training, double *loss, int64_t *images, struct problem *problem)
{
    struct network_batch batch = load_batch(training);
    struct hvd_metric metric = { .name = "loss" };
    training->problem = problem;
    metric.value = network_learn(&training->network, &batch, on_ready, training);
    if (problem->exit_status != 0)
        return -1;
    int rc = hvd_optimizer_step(training->optimizer);
    if (rc != HVD_OK)
        return problem_from_hvd_status(problem, rc, "averaging the gradients");
    rc = hvd_average_metrics(&metric, 1, 0);
    if (rc != HVD_OK)
        return problem_from_hvd_status(problem, rc, "averaging the loss");
    training->batch++;
    training->state.processed = (int64_t)hvd_sampler_processed(training->sampler);
    *loss = metric.value;
    *images = (int64_t)batch.count * training->size;
    return 0;
}

/* ---- test ---- */

/* Every size-th image, beginning with the rank-th. */
static int64_t count_correct(struct training *training)
{
    const struct idx_set *set = &training->data.test;
    int64_t correct = 0;
    for (long image = training->rank; image < set->count;) {
        int part = 0;
        for (; part < training->options->batch && image < set->count; image += training->size)
            load_image(training, set, image, part++);
        correct +=
            network_count_correct(&training->network, training->pixels, training->labels, part);
    }
    return correct;
}

/* The shares may differ by one image, so each rank counts by what it has recognised, and not by how
 * much of its share that is. */
int training_test(struct training *training, double *accuracy, struct problem *problem)
{
    double count = (double)training->data.test.count;
    struct hvd_metric metric = { "accuracy",
                                 (double)count_correct(training) * training->size / count };
    int rc = hvd_average_metrics(&metric, 1, 0);
    if (rc != HVD_OK)
        return problem_from_hvd_status(problem, rc, "averaging the accuracy");
    *accuracy = metric.value;
    return 0;
}
