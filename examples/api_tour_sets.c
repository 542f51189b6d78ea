/* SPDX-License-Identifier: Apache-2.0 */
/* The tour's stops at process sets and at the timeline. The set is made of the ranks with even
 * numbers. Alone there is no such set, as it would be the world once more, which is refused: then
 * the stops after that look at the world. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "examples/api_tour.h"

static bool is_member(const struct tour *tour)
{
    return tour->rank % 2 == 0 && tour->rank / 2 < TOUR_ROOM;
}

static int members(const struct tour *tour)
{
    int even = (tour->size + 1) / 2;
    return even < TOUR_ROOM ? even : TOUR_ROOM;
}

static void init_process_sets(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_init_process_sets(NULL, 0)); /* there is a world already */
}

static void refused(struct tour *tour, int status)
{
    tour_say(tour, "%s", hvd_last_error());
    tour_expect(tour, status == HVD_ERR_INVALID);
}

static void add(struct tour *tour, int arg)
{
    int ranks[TOUR_ROOM];
    (void)arg;
    for (int i = 0; i < members(tour); i++)
        ranks[i] = 2 * i;
    int id = hvd_add_process_set(ranks, members(tour));
    if (tour->size == 1)
        refused(tour, id);
    else if (tour_status(tour, id))
        tour->process_set = id;
}

static void set_size(struct tour *tour, int arg)
{
    (void)arg;
    tour_number(tour, hvd_process_set_size(tour->process_set), members(tour));
}

static void included(struct tour *tour, int arg)
{
    (void)arg;
    tour_number(tour, hvd_process_set_included(tour->process_set), is_member(tour));
}

static void set_rank(struct tour *tour, int arg)
{
    int rank = hvd_process_set_rank(tour->process_set);
    (void)arg;
    if (is_member(tour))
        tour_number(tour, rank, tour->rank / 2);
    else
        refused(tour, rank);
}

static void sets(struct tour *tour, int arg)
{
    int ids[2] = { -1, -1 }, count = hvd_process_sets(ids, 2);
    (void)arg;
    tour_number(tour, count, tour->size == 1 ? 1 : 2);
    for (int i = 0; i < count && i < 2; i++)
        tour_number(tour, ids[i], i == 0 ? 0 : tour->process_set);
}

static void set_ranks(struct tour *tour, int arg)
{
    int ranks[TOUR_ROOM] = { 0 };
    int count = hvd_process_set_ranks(tour->process_set, ranks, TOUR_ROOM);
    (void)arg;
    tour_number(tour, count, members(tour));
    for (int i = 0; i < count && i < TOUR_ROOM; i++)
        tour->output[i] = (float)ranks[i];
    tour_elements(tour, tour->output, members(tour), 0, 2);
}

static void allreduce_in_set(struct tour *tour, int arg)
{
    const struct hvd_options options = { .process_set = tour->process_set };
    const int64_t rows = 1;
    (void)arg;
    if (!is_member(tour))
        return;
    tour->input[0] = 1;
    struct hvd_tensor tensor = tour_tensor("tour.set", tour->input, tour->output, &rows);
    if (tour_status(tour, hvd_allreduce_async(&tensor, HVD_SUM, &options, &tour->handle)) &&
        tour_status(tour, hvd_wait(tour->handle)))
        tour_elements(tour, tour->output, 1, members(tour), 0);
}

static void take_away(struct tour *tour, int arg)
{
    int status = hvd_remove_process_set(tour->process_set);
    (void)arg;
    if (tour->size == 1)
        refused(tour, status);
    else
        tour_status(tour, status);
    tour->process_set = 0;
}

/* ---- the timeline ---- */

static void start_timeline(struct tour *tour, int arg)
{
    (void)arg;
    tour_status(tour, hvd_start_timeline(tour->file, 1));
}

/* Is there such a word in the file? Only rank 0 has written one. */
static bool was_written(const struct tour *tour, const char *word)
{
    char line[400];
    bool found = false;
    FILE *file = fopen(tour->file, "re");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof line, file))
        found |= strstr(line, word) != NULL;
    fclose(file);
    return found;
}

static void stop_timeline(struct tour *tour, int arg)
{
    (void)arg;
    hvd_broadcast("tour.traced", tour->input, 1, HVD_FLOAT32, 0);
    tour_status(tour, hvd_stop_timeline());
    tour_say(tour, "a file with an event of tour.traced");
    tour_expect(tour, was_written(tour, "tour.traced") == (tour->rank == 0));
    unlink(tour->file);
}

static const struct tour_row rows[] = {
    { "init(process_sets=[...])", "hvd_init_process_sets()", init_process_sets, 0 },
    { "add_process_set([0, 2, ...])", "hvd_add_process_set()", add, 0 },
    { "process_set.size()", "hvd_process_set_size()", set_size, 0 },
    { "process_set.included()", "hvd_process_set_included()", included, 0 },
    { "process_set.rank()", "hvd_process_set_rank()", set_rank, 0 },
    { "get_process_set_ids_and_ranks()", "hvd_process_sets()", sets, 0 },
    { "process_set.ranks", "hvd_process_set_ranks()", set_ranks, 0 },
    { "allreduce(x, process_set=process_set)", "hvd_allreduce_async(process_set)", allreduce_in_set,
      0 },
    { "remove_process_set(process_set)", "hvd_remove_process_set()", take_away, 0 },
    { "start_timeline(file)", "hvd_start_timeline()", start_timeline, 0 },
    { "stop_timeline()", "hvd_stop_timeline()", stop_timeline, 0 },
};
const struct tour_part tour_sets = { "Process sets and timeline", rows,
                                     sizeof rows / sizeof *rows };
