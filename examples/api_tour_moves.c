/* SPDX-License-Identifier: Apache-2.0 */
/* The tour's stops at what moves data and does not reduce it, and at barrier and join. What ranks
 * put in is chosen so that the result is a row of numbers with equal steps. */
#include "examples/api_tour.h"

/* ---- allgather ---- */

static void allgather(struct tour *tour, int arg)
{
    (void)arg;
    tour_numbers(tour, 2, 2 * tour->rank, 1);
    if (tour_status(tour,
                    hvd_allgather("tour.allgather", tour->input, tour->output, 2, HVD_FLOAT32)))
        tour_elements(tour, tour->output, 2 * tour->size, 0, 1);
}

/* Two rows from rank 0, one from each other; into memory of the library's. */
static void allgather_async(struct tour *tour, int arg)
{
    const int64_t rows = tour->rank == 0 ? 2 : 1;
    (void)arg;
    tour_numbers(tour, 2, tour->rank == 0 ? 0 : tour->rank + 1, 1);
    struct hvd_tensor tensor = tour_tensor("tour.unequal", tour->input, NULL, &rows);
    if (!tour_status(tour, hvd_allgather_async(&tensor, NULL, &tour->handle)) ||
        !tour_status(tour, hvd_wait_result(tour->handle, &tour->result)))
        return;
    tour_number(tour, (double)tour->result.dim0, tour->size + 1);
    tour_elements(tour, tour->result.data, (int)tour->result.dim0, 0, 1);
}

static int never(void *arg)
{
    (void)arg;
    return 0;
}

/* In one call; nothing interrupts the wait. */
static void allgather_tensor(struct tour *tour, int arg)
{
    struct hvd_interrupt interrupt = { .wanted = never };
    const struct hvd_options options = { .interrupt = &interrupt };
    const int64_t rows = 1;
    struct hvd_result result;
    (void)arg;
    tour_numbers(tour, 1, tour->rank, 0);
    struct hvd_tensor tensor = tour_tensor("tour.tensor", tour->input, NULL, &rows);
    if (!tour_status(tour, hvd_allgather_tensor(&tensor, &options, &result)))
        return;
    tour_elements(tour, result.data, (int)result.dim0, 0, 1);
    hvd_result_free(&result);
}

static void result_free(struct tour *tour, int arg)
{
    (void)arg;
    hvd_result_free(&tour->result);
    tour_say(tour, "nothing");
    tour_expect(tour, tour->result.data == NULL);
}

/* One element and one element, of each rank. */
static void gathered(struct tour *tour, struct hvd_tensor tensors[2])
{
    static const int64_t rows = 1;
    size_t of_all = (size_t)tour->size * sizeof(float);
    tour_numbers(tour, 2, tour->rank, tour->size);
    tensors[0] = tour_tensor("tour.gathered.0", tour->input, tour->output, &rows);
    tensors[1] = tour_tensor("tour.gathered.1", tour->input + 1, tour->output + tour->size, &rows);
    tensors[0].output_size = tensors[1].output_size = of_all;
}

static void grouped_allgather(struct tour *tour, int arg)
{
    struct hvd_tensor tensors[2];
    (void)arg;
    gathered(tour, tensors);
    if (tour_status(tour, hvd_grouped_allgather(tensors, 2, NULL, NULL)))
        tour_elements(tour, tour->output, 2 * tour->size, 0, 1);
}

static void grouped_allgather_async(struct tour *tour, int arg)
{
    struct hvd_tensor tensors[2];
    (void)arg;
    gathered(tour, tensors);
    if (tour_status(tour, hvd_grouped_allgather_async(tensors, 2, NULL, &tour->handle)) &&
        tour_status(tour, hvd_wait(tour->handle)))
        tour_elements(tour, tour->output, 2 * tour->size, 0, 1);
}

/* ---- broadcast ---- */

static void broadcast(struct tour *tour, int arg)
{
    (void)arg;
    tour_numbers(tour, 3, tour->rank + 1, 1);
    if (tour_status(tour,
                    hvd_broadcast("tour.broadcast", tour->input, 3, HVD_FLOAT32, tour->size - 1)))
        tour_elements(tour, tour->input, 3, tour->size, 1);
}

static void broadcast_tensor(struct tour *tour, int arg)
{
    const int64_t rows = 3;
    (void)arg;
    tour_numbers(tour, 3, tour->rank + 1, 1);
    struct hvd_tensor tensor = tour_tensor("tour.broadcast", NULL, tour->input, &rows);
    if (tour_status(tour, hvd_broadcast_tensor(&tensor, 0, NULL)))
        tour_elements(tour, tour->input, 3, 1, 1);
}

static void broadcast_async(struct tour *tour, int arg)
{
    const int64_t rows = 3;
    (void)arg;
    tour_numbers(tour, 3, tour->rank + 1, 1);
    struct hvd_tensor tensor = tour_tensor("tour.broadcast", NULL, tour->input, &rows);
    if (tour_status(tour, hvd_broadcast_async(&tensor, 0, NULL, &tour->handle)) &&
        tour_status(tour, hvd_wait_timeout(tour->handle, 60000, NULL)))
        tour_elements(tour, tour->input, 3, 1, 1);
}

/* ---- alltoall ---- */

/* Two rows to ranks with even numbers, one to the others. */
static int64_t rows_to(int rank)
{
    return rank % 2 == 0 ? 2 : 1;
}

static int64_t split(struct tour *tour)
{
    int64_t all = 0;
    for (int i = 0; i < tour->size; i++) {
        tour->splits[i] = rows_to(i);
        for (int64_t k = 0; k < tour->splits[i]; k++)
            tour->input[all++] = (float)(tour->splits[i] * tour->rank + k);
    }
    return all;
}

static void alltoall(struct tour *tour, int arg)
{
    const int64_t rows = split(tour);
    struct hvd_result result = { 0 };
    (void)arg;
    struct hvd_tensor tensor = tour_tensor("tour.alltoall", tour->input, NULL, &rows);
    if (!tour_status(tour, hvd_alltoall(&tensor, tour->splits, tour->size, NULL, &result)))
        return;
    tour_elements(tour, result.data, (int)result.dim0, 0, 1);
    for (int i = 0; i < result.nrows; i++)
        tour_expect(tour, result.rows[i] == rows_to(tour->rank));
    tour_say(tour, "%d from each", (int)rows_to(tour->rank));
    hvd_result_free(&result);
}

static void alltoall_async(struct tour *tour, int arg)
{
    const int64_t rows = tour->size;
    (void)arg;
    tour_numbers(tour, tour->size, tour->rank, 0);
    struct hvd_tensor tensor = tour_tensor("tour.equal", tour->input, tour->output, &rows);
    if (tour_status(tour, hvd_alltoall_async(&tensor, NULL, 0, NULL, &tour->handle)) &&
        tour_status(tour, hvd_wait(tour->handle)))
        tour_elements(tour, tour->output, tour->size, 0, 1);
}

/* ---- barrier and join ---- */

static void barrier(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_barrier());
}

static void wait_interruptible(struct tour *tour, int arg)
{
    struct hvd_interrupt interrupt = { .wanted = never };
    (void)arg;
    if (tour_status(tour, hvd_barrier_async(NULL, &tour->handle)))
        tour_status(tour, hvd_wait_interruptible(tour->handle, &interrupt, NULL));
}

static void barrier_async(struct tour *tour, int arg)
{
    (void)arg;
    if (tour_status(tour, hvd_barrier_async(NULL, &tour->handle)))
        tour_status(tour, hvd_wait(tour->handle));
}

/* Rank 0 has no more data, the others have one more batch; its part of their sum is zero. */
static void one_more_batch(struct tour *tour)
{
    if (tour->rank == 0)
        return;
    tour_numbers(tour, 3, 1, 0);
    if (tour_status(
            tour, hvd_allreduce("tour.batch", tour->input, tour->output, 3, HVD_FLOAT32, HVD_SUM)))
        tour_elements(tour, tour->output, 3, tour->size - 1, 0);
}

/* Who was last is not known beforehand, but all are told the same. */
static void last_rank(struct tour *tour, int last)
{
    int32_t both[2] = { last, -last }, most[2] = { 0 };
    hvd_allreduce("tour.last", both, most, 2, HVD_INT32, HVD_MAX);
    tour_say(tour, "rank %d was last", last);
    tour_expect(tour, last >= (tour->size > 1) && last < tour->size && most[0] == -most[1]);
}

static void join(struct tour *tour, int arg)
{
    int last = -1;
    (void)arg;
    one_more_batch(tour);
    if (tour_status(tour, hvd_join(&last)))
        last_rank(tour, last);
}

static void join_async(struct tour *tour, int arg)
{
    struct hvd_result result = { 0 };
    (void)arg;
    one_more_batch(tour);
    if (tour_status(tour, hvd_join_async(NULL, &tour->handle)) &&
        tour_status(tour, hvd_wait_result(tour->handle, &result)))
        last_rank(tour, result.last_rank);
}

static const struct tour_row rows[] = {
    { "allgather(x)", "hvd_allgather()", allgather, 0 },
    { "allgather_async(x)", "hvd_allgather_async(), hvd_wait_result()", allgather_async, 0 },
    { "del x", "hvd_result_free()", result_free, 0 },
    { "-", "hvd_allgather_tensor()", allgather_tensor, 0 },
    { "grouped_allgather([x, y])", "hvd_grouped_allgather()", grouped_allgather, 0 },
    { "grouped_allgather_async([x, y])", "hvd_grouped_allgather_async()", grouped_allgather_async,
      0 },
    { "broadcast(x, root_rank=size() - 1)", "hvd_broadcast()", broadcast, 0 },
    { "broadcast(x, root_rank=0)", "hvd_broadcast_tensor()", broadcast_tensor, 0 },
    { "broadcast_async(x, root_rank=0)", "hvd_broadcast_async(), hvd_wait_timeout()",
      broadcast_async, 0 },
    { "alltoall(x, splits)", "hvd_alltoall()", alltoall, 0 },
    { "alltoall_async(x)", "hvd_alltoall_async()", alltoall_async, 0 },
    { "barrier()", "hvd_barrier()", barrier, 0 },
    { "-", "hvd_barrier_async()", barrier_async, 0 },
    { "-", "hvd_wait_interruptible()", wait_interruptible, 0 },
    { "join()", "hvd_join()", join, 0 },
    { "-", "hvd_join_async()", join_async, 0 },
};
const struct tour_part tour_moves = { "Moves, barrier, join", rows, sizeof rows / sizeof *rows };
