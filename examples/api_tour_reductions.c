/* SPDX-License-Identifier: Apache-2.0 */
/* The tour's stops at allreduce and reduce-scatter: with a wait, and with a handle. What ranks put
 * in is chosen so that the result is a row of numbers with equal steps. */
#include <stdio.h>

#include "examples/api_tour.h"

/* Of 1, 2, 3 and so on, a number for each rank. */
static double sum_of_ranks(const struct tour *tour)
{
    return tour->size * (tour->size + 1) / 2.0;
}

/* ---- allreduce ---- */

/* What a rank puts in. Of a product the fifth factor and those behind it are 1, so that it fits
 * into a float. */
static double number_of(int rank, enum hvd_op op)
{
    if (op == HVD_ADASUM)
        return 7;
    return op == HVD_PRODUCT && rank >= 4 ? 1 : rank + 1;
}

/* What ranks' numbers become; Adasum counts once what all agree on. */
static double reduced(const struct tour *tour, enum hvd_op op)
{
    double product = 1;
    for (int i = 0; i < tour->size; i++)
        product *= number_of(i, HVD_PRODUCT);
    const double results[] = {
        [HVD_AVERAGE] = sum_of_ranks(tour) / tour->size,
        [HVD_SUM] = sum_of_ranks(tour),
        [HVD_ADASUM] = number_of(0, HVD_ADASUM),
        [HVD_MIN] = 1,
        [HVD_MAX] = tour->size,
        [HVD_PRODUCT] = product,
    };
    return results[op];
}

static void allreduce(struct tour *tour, int arg)
{
    enum hvd_op op = (enum hvd_op)arg;
    char name[32];
    snprintf(name, sizeof name, "tour.allreduce.%d", arg);
    tour_numbers(tour, 3, number_of(tour->rank, op), 0);
    if (tour_status(tour, hvd_allreduce(name, tour->input, tour->output, 3, HVD_FLOAT32, op)))
        tour_elements(tour, tour->output, 3, reduced(tour, op), 0);
}

static void allreduce_async(struct tour *tour, int arg)
{
    const struct hvd_options options = { .prescale = 0.5, .postscale = 4 };
    const int64_t rows = 3;
    (void)arg;
    tour_numbers(tour, 3, tour->rank + 1, 0);
    struct hvd_tensor tensor = tour_tensor("tour.async", tour->input, tour->output, &rows);
    tour_status(tour, hvd_allreduce_async(&tensor, HVD_SUM, &options, &tour->handle));
    tour_say(tour, "a handle");
}

/* With a shape, a set or factors, like the call with a handle. */
static void allreduce_tensor(struct tour *tour, int arg)
{
    const struct hvd_options options = { .postscale = 2 };
    const int64_t rows = 3;
    (void)arg;
    tour_numbers(tour, 3, tour->rank + 1, 0);
    struct hvd_tensor tensor = tour_tensor("tour.tensor", tour->input, tour->output, &rows);
    if (tour_status(tour, hvd_allreduce_tensor(&tensor, HVD_SUM, &options)))
        tour_elements(tour, tour->output, 3, 2 * sum_of_ranks(tour), 0);
}

static void poll(struct tour *tour, int arg)
{
    int done = hvd_poll(tour->handle);
    (void)arg;
    tour_say(tour, done == 1 ? "1: done" : "0: not yet");
    tour_expect(tour, done == 0 || done == 1);
}

static void wait(struct tour *tour, int arg)
{
    (void)arg;
    if (tour_status(tour, hvd_wait(tour->handle)))
        tour_elements(tour, tour->output, 3, 2 * sum_of_ranks(tour), 0);
}

/* Two tensors: three and two elements of one row of five. */
static void pair(struct tour *tour, struct hvd_tensor tensors[2])
{
    static const int64_t rows[2] = { 3, 2 };
    tour_numbers(tour, 5, tour->rank + 1, 1);
    tensors[0] = tour_tensor("tour.pair.0", tour->input, tour->output, &rows[0]);
    tensors[1] = tour_tensor("tour.pair.1", tour->input + 3, tour->output + 3, &rows[1]);
}

static void grouped_allreduce(struct tour *tour, int arg)
{
    struct hvd_tensor tensors[2];
    (void)arg;
    pair(tour, tensors);
    if (tour_status(tour, hvd_grouped_allreduce(tensors, 2, HVD_SUM, NULL)))
        tour_elements(tour, tour->output, 5, sum_of_ranks(tour), tour->size);
}

static void grouped_allreduce_async(struct tour *tour, int arg)
{
    struct hvd_tensor tensors[2];
    (void)arg;
    pair(tour, tensors);
    if (tour_status(tour, hvd_grouped_allreduce_async(tensors, 2, HVD_SUM, NULL, &tour->handle)) &&
        tour_status(tour, hvd_wait(tour->handle)))
        tour_elements(tour, tour->output, 5, sum_of_ranks(tour), tour->size);
}

/* ---- reduce-scatter ---- */

/* One row more than there are ranks, so that rank 0 gets two. */
static void share(struct tour *tour, int arg)
{
    (void)arg;
    tour_number(tour, (double)hvd_share(tour->size + 1, tour->size, tour->rank),
                tour->rank == 0 ? 2 : 1);
}

/* Rows 0, 1, 2 and so on, the same on all ranks: each becomes its number times theirs. */
static struct hvd_tensor scattered(struct tour *tour, const char *name, const int64_t *rows,
                                   int first)
{
    tour_numbers(tour, first + (int)*rows, 0, 1);
    return tour_tensor(name, tour->input + first, tour->output + first, rows);
}

/* The number of this rank's first row. */
static int first_row(const struct tour *tour)
{
    return tour->rank == 0 ? 0 : tour->rank + 1;
}

static void reducescatter(struct tour *tour, int arg)
{
    const int64_t rows = tour->size + 1;
    int mine = (int)hvd_share(rows, tour->size, tour->rank);
    (void)arg;
    struct hvd_tensor tensor = scattered(tour, "tour.scattered", &rows, 0);
    if (tour_status(tour, hvd_reducescatter(&tensor, HVD_SUM, NULL)))
        tour_elements(tour, tour->output, mine, tour->size * first_row(tour), tour->size);
}

static void reducescatter_async(struct tour *tour, int arg)
{
    const int64_t rows = tour->size + 1;
    int mine = (int)hvd_share(rows, tour->size, tour->rank);
    (void)arg;
    struct hvd_tensor tensor = scattered(tour, "tour.scattered", &rows, 0);
    if (tour_status(tour, hvd_reducescatter_async(&tensor, HVD_AVERAGE, NULL, &tour->handle)) &&
        tour_status(tour, hvd_wait(tour->handle)))
        tour_elements(tour, tour->output, mine, first_row(tour), 1);
}

/* Rows for each rank, and as many again: rank r gets row r of both. */
static void scattered_pair(struct tour *tour, struct hvd_tensor tensors[2], const int64_t *rows)
{
    tensors[0] = scattered(tour, "tour.scattered.0", rows, 0);
    tensors[1] = scattered(tour, "tour.scattered.1", rows, tour->size);
    tensors[1].output = tour->output + 1;
    tensors[0].output_size = tensors[1].output_size = sizeof(float);
}

static void grouped_reducescatter(struct tour *tour, int arg)
{
    const int64_t rows = tour->size;
    struct hvd_tensor tensors[2];
    (void)arg;
    scattered_pair(tour, tensors, &rows);
    if (tour_status(tour, hvd_grouped_reducescatter(tensors, 2, HVD_AVERAGE, NULL)))
        tour_elements(tour, tour->output, 2, tour->rank, tour->size);
}

static void grouped_reducescatter_async(struct tour *tour, int arg)
{
    const int64_t rows = tour->size;
    struct hvd_tensor tensors[2];
    (void)arg;
    scattered_pair(tour, tensors, &rows);
    if (tour_status(tour,
                    hvd_grouped_reducescatter_async(tensors, 2, HVD_SUM, NULL, &tour->handle)) &&
        tour_status(tour, hvd_wait(tour->handle)))
        tour_elements(tour, tour->output, 2, tour->size * tour->rank,
                      (double)tour->size * tour->size);
}

static const struct tour_row rows[] = {
    { "allreduce(x, op=Average)", "hvd_allreduce(HVD_AVERAGE)", allreduce, HVD_AVERAGE },
    { "allreduce(x, op=Sum)", "hvd_allreduce(HVD_SUM)", allreduce, HVD_SUM },
    { "allreduce(x, op=Min)", "hvd_allreduce(HVD_MIN)", allreduce, HVD_MIN },
    { "allreduce(x, op=Max)", "hvd_allreduce(HVD_MAX)", allreduce, HVD_MAX },
    { "allreduce(x, op=Product)", "hvd_allreduce(HVD_PRODUCT)", allreduce, HVD_PRODUCT },
    { "allreduce(x, op=Adasum)", "hvd_allreduce(HVD_ADASUM)", allreduce, HVD_ADASUM },
    { "allreduce(x, postscale_factor=...)", "hvd_allreduce_tensor()", allreduce_tensor, 0 },
    { "allreduce_async(x, prescale_factor=...)", "hvd_allreduce_async()", allreduce_async, 0 },
    { "poll(handle)", "hvd_poll()", poll, 0 },
    { "synchronize(handle)", "hvd_wait()", wait, 0 },
    { "grouped_allreduce([x, y])", "hvd_grouped_allreduce()", grouped_allreduce, 0 },
    { "grouped_allreduce_async([x, y])", "hvd_grouped_allreduce_async()", grouped_allreduce_async,
      0 },
    { "-", "hvd_share()", share, 0 },
    { "reducescatter(x, op=Sum)", "hvd_reducescatter()", reducescatter, 0 },
    { "reducescatter_async(x, op=Average)", "hvd_reducescatter_async()", reducescatter_async, 0 },
    { "grouped_reducescatter([x, y])", "hvd_grouped_reducescatter()", grouped_reducescatter, 0 },
    { "grouped_reducescatter_async([x, y])", "hvd_grouped_reducescatter_async()",
      grouped_reducescatter_async, 0 },
};
const struct tour_part tour_reductions = { "Reductions", rows, sizeof rows / sizeof *rows };
