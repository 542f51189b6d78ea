/* SPDX-License-Identifier: Apache-2.0 */
/* The tour's stops at what a training program needs besides: state, objects, metrics, learning
 * rates, the sampler, checkpoints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/api_tour.h"

enum { SHARE = 50, BATCH = 3 }; /* samples of each rank */

/* ---- state and objects ---- */

static void broadcast_optimizer_state(struct tour *tour, int arg)
{
    static const int64_t two = 2;
    int64_t steps = 10 * (tour->rank + 1);
    struct hvd_parameter momentum = { .name = "tour.momentum",
                                      .data = tour->gradient,
                                      .dtype = HVD_FLOAT32,
                                      .ndims = 1,
                                      .dims = &two };
    struct hvd_scalar counter = { .name = "tour.steps", .value = &steps, .dtype = HVD_INT64 };
    (void)arg;
    tour->gradient[0] = tour->gradient[1] = (float)(tour->rank + 5);
    if (!tour_status(tour, hvd_broadcast_optimizer_state(&momentum, 1, &counter, 1, 0, 0)))
        return;
    tour_elements(tour, tour->gradient, 2, 5, 0);
    tour_number(tour, (double)steps, 10);
}

static void broadcast_object(struct tour *tour, int arg)
{
    static char text[] = "any bytes";
    struct hvd_object object = { 0 };
    (void)arg;
    if (tour->rank == 0)
        object = (struct hvd_object){ text, sizeof text };
    if (tour_status(tour, hvd_broadcast_object("tour.object", &object, 0, 0))) {
        tour_say(tour, "'%s'", (char *)object.data);
        tour_expect(tour, object.size == sizeof text && strcmp(object.data, text) == 0);
    }
    if (tour->rank != 0)
        hvd_object_free(&object);
}

/* What an object that was received takes is given back with this; rank 0's was its own. */
static void object_free(struct tour *tour, int arg)
{
    struct hvd_object object = { malloc(1), 1 };
    (void)arg;
    hvd_object_free(&object);
    tour_say(tour, "nothing");
    tour_expect(tour, object.data == NULL && object.size == 0);
}

/* "0", "1" and so on. */
static void allgather_object(struct tour *tour, int arg)
{
    struct hvd_object *objects = NULL;
    char text[16];
    int length = snprintf(text, sizeof text, "%d", tour->rank);
    (void)arg;
    if (!tour_status(tour, hvd_allgather_object("tour.objects", text, (size_t)length, 0, &objects)))
        return;
    for (int i = 0; i < tour->size && i < TOUR_ROOM; i++) {
        tour_say(tour, "'%.*s'", (int)objects[i].size, (char *)objects[i].data);
        tour_expect(tour, objects[i].size < sizeof text);
        snprintf(text, sizeof text, "%.*s", (int)objects[i].size, (char *)objects[i].data);
        tour_expect(tour, atoi(text) == i);
    }
    free(objects);
}

/* ---- metrics and learning rates ---- */

static void average_metrics(struct tour *tour, int arg)
{
    struct hvd_metric metrics[2] = { { "tour.loss", tour->rank + 1 }, { "tour.accuracy", 0.5 } };
    (void)arg;
    if (!tour_status(tour, hvd_average_metrics(metrics, 2, 0)))
        return;
    tour_number(tour, metrics[0].value, (tour->size + 1) / 2.0);
    tour_number(tour, metrics[1].value, 0.5);
}

/* Two epochs of ten batches from the rate of one rank to that of all. */
static void warmup_rate(struct tour *tour, int arg)
{
    double target = 0.1 * tour->size;
    double first = hvd_warmup_rate(target, 2, tour->size, (struct hvd_batch){ 0, 0, 10 });
    double last = hvd_warmup_rate(target, 2, tour->size, (struct hvd_batch){ 2, 0, 10 });
    (void)arg;
    tour_say(tour, "from %.4g to %.4g", first, last);
    tour_expect(tour,
                first > 0.0999 && first <= target && last > target - 1e-9 && last < target + 1e-9);
}

static void scheduled_rate(struct tour *tour, int arg)
{
    struct hvd_rate_schedule schedule = { .initial = 0.1, .decay = 0.5, .start_epoch = 1 };
    (void)arg;
    tour_number(tour, hvd_scheduled_rate(&schedule, (struct hvd_batch){ 3, 0, 10 }), 0.025);
}

static void corrected_momentum(struct tour *tour, int arg)
{
    (void)arg;
    tour_number(tour, hvd_corrected_momentum(0.9, 0.1, 0.2), 1.8);
}

/* ---- who trains on which sample ---- */

static uint64_t samples(const struct tour *tour)
{
    return (uint64_t)SHARE * (uint64_t)tour->size;
}

static void sampler_create(struct tour *tour, int arg)
{
    struct hvd_sampler_options options = { .count = samples(tour),
                                           .seed = (uint64_t)tour->seed,
                                           .ahead = 1 };
    (void)arg;
    tour_status(tour, hvd_sampler_create(&options, &tour->sampler));
}

static void sampler_start_epoch(struct tour *tour, int arg)
{
    hvd_sampler_start_epoch(tour->sampler, (uint64_t)arg);
    tour_say(tour, "nothing");
}

static void sampler_left(struct tour *tour, int arg)
{
    (void)arg;
    tour_number(tour, (double)hvd_sampler_left(tour->sampler), SHARE);
}

static void sampler_next(struct tour *tour, int arg)
{
    uint64_t batch[BATCH] = { 0 };
    (void)arg;
    tour_number(tour, (double)hvd_sampler_next(tour->sampler, batch, BATCH), BATCH);
    tour_say(tour, "[%d %d %d]", (int)batch[0], (int)batch[1], (int)batch[2]);
    for (int i = 0; i < BATCH; i++)
        tour_expect(tour, batch[i] < samples(tour));
}

static void sampler_finish(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_sampler_finish(tour->sampler, BATCH));
}

static void sampler_epoch(struct tour *tour, int arg)
{
    tour_number(tour, (double)hvd_sampler_epoch(tour->sampler), arg);
}

static void sampler_processed(struct tour *tour, int arg)
{
    (void)arg;
    tour_number(tour, (double)hvd_sampler_processed(tour->sampler), BATCH * tour->size);
}

static void sampler_resume(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_sampler_resume(tour->sampler, 1, samples(tour) - (uint64_t)tour->size));
    tour_number(tour, (double)hvd_sampler_left(tour->sampler), 1);
}

static void sampler_place(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_sampler_place(tour->sampler, 0, 0));
    tour_number(tour, (double)hvd_sampler_left(tour->sampler), 1);
}

static void sampler_destroy(struct tour *tour, int arg)
{
    (void)arg;
    hvd_sampler_destroy(tour->sampler);
    tour->sampler = NULL;
    tour_say(tour, "nothing");
}

/* ---- checkpoints ---- */

/* Two weights and the number of the epoch, saved by rank 0 and restored on all. */
static void checkpoint(struct tour *tour, bool save)
{
    static const int64_t two = 2;
    int64_t epoch = save ? 7 : 0;
    struct hvd_parameter weight = {
        .name = "tour.weight", .data = tour->weight, .dtype = HVD_FLOAT32, .ndims = 1, .dims = &two
    };
    struct hvd_scalar number = { .name = "tour.epoch", .value = &epoch, .dtype = HVD_INT64 };
    struct hvd_checkpoint all = { &weight, 1, &number, 1 };
    tour->weight[0] = save ? 3 : 0;
    tour->weight[1] = save ? 4 : 0;
    if (!tour_status(tour, save ? hvd_checkpoint_save(tour->file, &all, 0)
                                : hvd_checkpoint_restore(tour->file, &all, 0)))
        return;
    tour_elements(tour, tour->weight, 2, 3, 1);
    tour_number(tour, (double)epoch, 7);
}

static void checkpoint_save(struct tour *tour, int arg)
{
    (void)arg;
    checkpoint(tour, true);
}

static void checkpoint_restore(struct tour *tour, int arg)
{
    (void)arg;
    checkpoint(tour, false);
    unlink(tour->file);
}

static const struct tour_row rows[] = {
    { "broadcast_optimizer_state(optimizer, 0)", "hvd_broadcast_optimizer_state()",
      broadcast_optimizer_state, 0 },
    { "broadcast_object(obj, root_rank=0)", "hvd_broadcast_object()", broadcast_object, 0 },
    { "del obj", "hvd_object_free()", object_free, 0 },
    { "allgather_object(obj)", "hvd_allgather_object()", allgather_object, 0 },
    { "MetricAverageCallback()", "hvd_average_metrics()", average_metrics, 0 },
    { "LearningRateWarmupCallback(...)", "hvd_warmup_rate()", warmup_rate, 0 },
    { "LearningRateScheduleCallback(...)", "hvd_scheduled_rate()", scheduled_rate, 0 },
    { "momentum_correction=True", "hvd_corrected_momentum()", corrected_momentum, 0 },
    { "ElasticSampler(dataset, seed=42)", "hvd_sampler_create()", sampler_create, 0 },
    { "sampler.set_epoch(1)", "hvd_sampler_start_epoch()", sampler_start_epoch, 1 },
    { "len(sampler)", "hvd_sampler_left()", sampler_left, 0 },
    { "iter(sampler)", "hvd_sampler_next()", sampler_next, 0 },
    { "sampler.record_batch(0, 3)", "hvd_sampler_finish()", sampler_finish, 0 },
    { "sampler.state_dict()", "hvd_sampler_processed()", sampler_processed, 0 },
    { "sampler.epoch", "hvd_sampler_epoch()", sampler_epoch, 1 },
    { "sampler.load_state_dict(state)", "hvd_sampler_resume()", sampler_resume, 0 },
    { "sampler.reset()", "hvd_sampler_place()", sampler_place, 0 },
    { "del sampler", "hvd_sampler_destroy()", sampler_destroy, 0 },
    { "torch.save(state, file) on rank 0", "hvd_checkpoint_save()", checkpoint_save, 0 },
    { "torch.load(file), broadcast_parameters()", "hvd_checkpoint_restore()", checkpoint_restore,
      0 },
};
const struct tour_part tour_training = { "State, metrics, rates, samples, checkpoints", rows,
                                         sizeof rows / sizeof *rows };
