/* SPDX-License-Identifier: Apache-2.0 */
/* The tour's first stops and its last: joining the world, who is where in it, leaving it. */
#include <string.h>

#include "examples/api_tour.h"

static void init(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_init()); /* once more: that changes nothing */
}

static void is_initialized(struct tour *tour, int arg)
{
    tour_number(tour, hvd_is_initialized(), arg);
}

/* A number that is at least `low` and less than `high`. */
static void between(struct tour *tour, int number, int low, int high)
{
    tour_say(tour, "%d", number);
    tour_expect(tour, number >= low && number < high);
}

static void size(struct tour *tour, int arg)
{
    (void)arg;
    tour_number(tour, hvd_size(), tour->size);
}

static void rank(struct tour *tour, int arg)
{
    (void)arg;
    between(tour, hvd_rank(), 0, hvd_size());
}

static void local_size(struct tour *tour, int arg)
{
    (void)arg;
    between(tour, hvd_local_size(), 1, hvd_size() + 1);
}

static void local_rank(struct tour *tour, int arg)
{
    (void)arg;
    between(tour, hvd_local_rank(), 0, hvd_local_size());
}

static void cross_size(struct tour *tour, int arg)
{
    (void)arg;
    between(tour, hvd_cross_size(), 1, hvd_size() + 1);
}

static void cross_rank(struct tour *tour, int arg)
{
    (void)arg;
    between(tour, hvd_cross_rank(), 0, hvd_cross_size());
}

static void is_homogeneous(struct tour *tour, int arg)
{
    int32_t both[2] = { hvd_local_size(), -hvd_local_size() }, most[2] = { 0 };
    (void)arg;
    hvd_allreduce("tour.local_size", both, most, 2, HVD_INT32, HVD_MAX);
    tour_number(tour, hvd_is_homogeneous(), most[0] == -most[1]);
}

static void epoch(struct tour *tour, int arg)
{
    tour_number(tour, hvd_epoch(), arg);
}

static void hosts_updated(struct tour *tour, int arg)
{
    (void)arg;
    between(tour, hvd_hosts_updated(), 0, (HVD_HOSTS_REMOVED | HVD_HOSTS_ADDED) + 1);
}

static void version(struct tour *tour, int arg)
{
    (void)arg;
    tour_say(tour, "%s", hvd_version());
    tour_expect(tour, strchr(hvd_version(), '.') != NULL);
}

static void dtype_size(struct tour *tour, int arg)
{
    tour_number(tour, (double)hvd_dtype_size((enum hvd_dtype)arg), 2);
}

static void alloc(struct tour *tour, int arg)
{
    tour->shared = hvd_alloc((size_t)arg * sizeof *tour->shared);
    tour_say(tour, tour->shared ? "memory" : "NULL");
    tour_expect(tour, tour->shared != NULL);
    for (int i = 0; tour->shared && i < arg; i++)
        tour->shared[i] = (float)i;
}

/* What it is for. */
static void free_alloc(struct tour *tour, int arg)
{
    float *shared = tour->shared;
    if (tour_status(tour, hvd_allreduce("tour.shared", shared, shared, (size_t)arg, HVD_FLOAT32,
                                        HVD_AVERAGE)))
        tour_elements(tour, shared, arg, 0, 1);
    hvd_free(shared);
}

static void bytes_sent(struct tour *tour, int arg)
{
    int64_t bytes = hvd_bytes_sent();
    (void)arg;
    tour_say(tour, bytes > 0 ? "more than 0" : "0");
    tour_expect(tour, (bytes > 0) == (tour->size > 1));
}

/* A mistake that the library notices at once, and tells nobody else. */
static void last_error(struct tour *tour, int arg)
{
    float number = 0;
    (void)arg;
    int status = hvd_broadcast("tour.mistake", &number, 1, HVD_FLOAT32, tour->size);
    if (status == HVD_ERR_INVALID)
        tour_say(tour, "%s", hvd_last_error());
    else
        tour_status(tour, status); /* another rank may be lost meanwhile */
    tour_expect(tour, status == HVD_ERR_INVALID);
}

static void strstatus(struct tour *tour, int arg)
{
    tour_say(tour, "%s", hvd_strstatus(arg));
    tour_expect(tour, hvd_strstatus(arg)[0] != '\0');
}

static void shutdown(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_shutdown());
}

static const struct tour_row first[] = {
    { "init()", "hvd_init()", init, 0 },
    { "is_initialized()", "hvd_is_initialized()", is_initialized, 1 },
    { "size()", "hvd_size()", size, 0 },
    { "rank()", "hvd_rank()", rank, 0 },
    { "local_size()", "hvd_local_size()", local_size, 0 },
    { "local_rank()", "hvd_local_rank()", local_rank, 0 },
    { "cross_size()", "hvd_cross_size()", cross_size, 0 },
    { "cross_rank()", "hvd_cross_rank()", cross_rank, 0 },
    { "is_homogeneous()", "hvd_is_homogeneous()", is_homogeneous, 0 },
    { "-", "hvd_epoch()", epoch, 0 },
    { "-", "hvd_hosts_updated()", hosts_updated, 0 },
    { "-", "hvd_alloc()", alloc, 3 },
    { "-", "hvd_free()", free_alloc, 3 },
    { "-", "hvd_bytes_sent()", bytes_sent, 0 },
    { "horovod.__version__", "hvd_version()", version, 0 },
    { "-", "hvd_dtype_size(HVD_BFLOAT16)", dtype_size, HVD_BFLOAT16 },
    { "str(exception)", "hvd_last_error()", last_error, 0 },
    { "type(exception)", "hvd_strstatus(HVD_ERR_INVALID)", strstatus, HVD_ERR_INVALID },
};
const struct tour_part tour_world = { "The world", first, sizeof first / sizeof *first };

static const struct tour_row last[] = {
    { "shutdown()", "hvd_shutdown()", shutdown, 0 },
    { "is_initialized()", "hvd_is_initialized()", is_initialized, 0 },
};
const struct tour_part tour_end = { "The end", last, sizeof last / sizeof *last };
