/* SPDX-License-Identifier: Apache-2.0 */
/* The tour's stops at elastic training: a state of a tensor, some bytes, a number, a sampler and an
 * optimizer. The job of the tour is not elastic, so the training is called once. */
#include "hvd_elastic.h"

#include "examples/api_tour.h"

enum { COUNT = 12 }; /* samples */

static const int64_t two = 2;

/* The state, and what it is made of. */
static struct {
    struct hvd_elastic_state *state;
    float momentum[2];
    char bytes[4];
    int64_t step;
    struct hvd_sampler *sampler;
    struct hvd_optimizer *optimizer;
} training;

static void init(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_elastic_init()); /* the world is joined already */
}

static void create(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_elastic_create(NULL, &training.state));
}

static struct hvd_parameter parameter(const char *name, float *data, float *gradient)
{
    return (struct hvd_parameter){
        .name = name,
        .data = data,
        .gradient = gradient,
        .dtype = HVD_FLOAT32,
        .ndims = 1,
        .dims = &two,
    };
}

static void add_parameters(struct tour *tour, int arg)
{
    struct hvd_parameter momentum = parameter("momentum", training.momentum, NULL);
    (void)arg;
    tour_status(tour, hvd_elastic_add_parameters(training.state, &momentum, 1));
}

static void add_memory(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_elastic_add_memory(training.state, "bytes", training.bytes,
                                             sizeof training.bytes));
}

static void add_values(struct tour *tour, int arg)
{
    struct hvd_scalar step = { .name = "step", .value = &training.step, .dtype = HVD_INT64 };
    (void)arg;
    tour_status(tour, hvd_elastic_add_values(training.state, &step, 1));
}

static void add_sampler(struct tour *tour, int arg)
{
    struct hvd_sampler_options options = { .count = COUNT };
    (void)arg;
    if (tour_status(tour, hvd_sampler_create(&options, &training.sampler)))
        tour_status(tour, hvd_elastic_add_sampler(training.state, "samples", training.sampler));
}

static int update(void *arg)
{
    (void)arg;
    return 0;
}

static void add_optimizer(struct tour *tour, int arg)
{
    struct hvd_parameter weight = parameter("weight", tour->weight, tour->gradient);
    (void)arg;
    tour_status(tour, hvd_elastic_add_optimizer(training.state, &weight, 1, NULL, update, NULL,
                                                &training.optimizer));
}

/* Here a program would follow the number of ranks, which is the same as before. */
static int follow(const struct hvd_elastic_reset *reset, void *arg)
{
    (void)arg;
    return reset->size == reset->previous_size ? HVD_OK : 1;
}

static void on_reset(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_elastic_on_reset(training.state, follow, NULL));
}

static void sync(struct tour *tour, int arg)
{
    (void)arg;
    training.step = 5 + tour->rank;
    if (tour_status(tour, hvd_elastic_sync(training.state)))
        tour_number(tour, (double)training.step, 5);
}

static void commit(struct tour *tour, int arg)
{
    (void)arg;
    training.step = 6;
    tour_status(tour, hvd_elastic_commit(training.state));
}

static void restore(struct tour *tour, int arg)
{
    (void)arg;
    training.step = 7;
    if (tour_status(tour, hvd_elastic_restore(training.state)))
        tour_number(tour, (double)training.step, 6);
}

static void check_host_updates(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_elastic_check_host_updates(training.state));
}

static int train(struct hvd_elastic_state *state, void *arg)
{
    int *calls = arg;
    ++*calls;
    return hvd_elastic_commit(state);
}

static void run(struct tour *tour, int arg)
{
    int calls = 0;
    (void)arg;
    if (tour_status(tour, hvd_elastic_run(training.state, train, &calls)))
        tour_number(tour, calls, 1);
}

static void destroy(struct tour *tour, int arg)
{
    (void)tour;
    (void)arg;
    hvd_elastic_destroy(training.state);
    hvd_sampler_destroy(training.sampler);
    training.state = NULL;
    training.sampler = NULL;
}

static const struct tour_row rows[] = {
    { "init()", "hvd_elastic_init()", init, 0 },
    { "elastic.TorchState(...)", "hvd_elastic_create()", create, 0 },
    { "-", "hvd_elastic_add_parameters()", add_parameters, 0 },
    { "-", "hvd_elastic_add_memory()", add_memory, 0 },
    { "-", "hvd_elastic_add_values()", add_values, 0 },
    { "-", "hvd_elastic_add_sampler()", add_sampler, 0 },
    { "-", "hvd_elastic_add_optimizer()", add_optimizer, 0 },
    { "state.register_reset_callbacks([f])", "hvd_elastic_on_reset()", on_reset, 0 },
    { "state.sync()", "hvd_elastic_sync()", sync, 0 },
    { "state.commit()", "hvd_elastic_commit()", commit, 0 },
    { "state.restore()", "hvd_elastic_restore()", restore, 0 },
    { "state.check_host_updates()", "hvd_elastic_check_host_updates()", check_host_updates, 0 },
    { "elastic.run(train)(state)", "hvd_elastic_run()", run, 0 },
    { "-", "hvd_elastic_destroy()", destroy, 0 },
};
const struct tour_part tour_elastic = { "Elastic training", rows, sizeof rows / sizeof *rows };
