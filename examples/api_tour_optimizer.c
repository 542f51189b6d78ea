/* SPDX-License-Identifier: Apache-2.0 */
/* The tour's stops at the distributed optimizer: one parameter of two elements, whose gradients
 * the ranks average to 5, 5; a step goes half a gradient down. */
#include "examples/api_tour.h"

static const int64_t two = 2;

static struct hvd_parameter parameter(struct tour *tour)
{
    return (struct hvd_parameter){
        .name = "tour.weight",
        .data = tour->weight,
        .gradient = tour->gradient,
        .dtype = HVD_FLOAT32,
        .ndims = 1,
        .dims = &two,
    };
}

/* 4 and 6 in turn, and 5 if there is nobody to take turns with: they average to 5, and what they
 * add up to fits into half precision however many ranks there are. */
static double own_gradient(const struct tour *tour)
{
    if (tour->rank % 2 == 1)
        return 6;
    return tour->rank == tour->size - 1 ? 5 : 4;
}

static void broadcast_parameters(struct tour *tour, int arg)
{
    struct hvd_parameter weight = parameter(tour);
    (void)arg;
    for (int i = 0; i < 2; i++)
        tour->weight[i] = (float)(100 * (tour->rank + 1) + i);
    if (tour_status(tour, hvd_broadcast_parameters(&weight, 1, 0, 0)))
        tour_elements(tour, tour->weight, 2, 100, 1);
}

static int update(void *arg)
{
    struct tour *tour = arg;
    for (int i = 0; i < 2; i++)
        tour->weight[i] -= tour->gradient[i] / 2;
    return 0;
}

static void create(struct tour *tour, int arg)
{
    const struct hvd_optimizer_options options = { .compression = HVD_COMPRESSION_FP16 };
    struct hvd_parameter weight = parameter(tour);
    (void)arg;
    tour_status(tour, hvd_optimizer_create(&weight, 1, &options, update, tour, &tour->optimizer));
}

static void ready(struct tour *tour, int arg)
{
    (void)arg;
    tour->gradient[0] = tour->gradient[1] = (float)own_gradient(tour);
    tour_status(tour, hvd_optimizer_ready(tour->optimizer, 0));
}

static void synchronize(struct tour *tour, int arg)
{
    (void)arg;
    if (tour_status(tour, hvd_optimizer_synchronize(tour->optimizer)))
        tour_elements(tour, tour->gradient, 2, 5, 0);
}

/* Clipped to 1 in between. */
static void skip_synchronize(struct tour *tour, int arg)
{
    (void)arg;
    tour->gradient[0] = tour->gradient[1] = 1;
    tour_status(tour, hvd_optimizer_skip_synchronize(tour->optimizer));
}

static void step(struct tour *tour, int arg)
{
    (void)arg;
    if (tour_status(tour, hvd_optimizer_step(tour->optimizer)))
        tour_elements(tour, tour->weight, 2, 99.5, 1);
}

static void zero_gradients(struct tour *tour, int arg)
{
    (void)arg;
    if (tour_status(tour, hvd_optimizer_zero_gradients(tour->optimizer)))
        tour_elements(tour, tour->gradient, 2, 0, 0);
}

static void destroy(struct tour *tour, int arg)
{
    (void)arg;
    hvd_optimizer_destroy(tour->optimizer);
    tour->optimizer = NULL;
    tour_say(tour, "nothing");
}

static const struct tour_row rows[] = {
    { "broadcast_parameters(parameters, root_rank=0)", "hvd_broadcast_parameters()",
      broadcast_parameters, 0 },
    { "DistributedOptimizer(optimizer, compression)", "hvd_optimizer_create()", create, 0 },
    { "loss.backward()", "hvd_optimizer_ready()", ready, 0 },
    { "optimizer.synchronize()", "hvd_optimizer_synchronize()", synchronize, 0 },
    { "with optimizer.skip_synchronize():", "hvd_optimizer_skip_synchronize()", skip_synchronize,
      0 },
    { "optimizer.step()", "hvd_optimizer_step()", step, 0 },
    { "optimizer.zero_grad()", "hvd_optimizer_zero_gradients()", zero_gradients, 0 },
    { "del optimizer", "hvd_optimizer_destroy()", destroy, 0 },
};
const struct tour_part tour_optimizer = { "The distributed optimizer", rows,
                                          sizeof rows / sizeof *rows };
