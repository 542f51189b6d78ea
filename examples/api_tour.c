/* SPDX-License-Identifier: Apache-2.0 */
/* Every call of the library once: what Horovod calls it, what libhvd calls it, what it returned.
 *
 *     hvdrun -np 2 examples/api_tour
 *
 *   for each stop of the tour (api_tour_*.c): call, print what rank 0 got, check it on every rank;
 *   how many were wrong; leave the world.
 *
 * A mistake on the command line ends every rank with status 2; a call that fails and output that
 * cannot be written with status 1. A rank that has got something wrong says which call it was, and
 * rank 0 ends with status 1 when it has told how many there were. When a rank is lost, each that
 * remains says so once. */
#include "examples/api_tour.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/support/accelerator.h"
#include "examples/support/program.h"
#include "examples/support/result.h"

static const char name[] = "api_tour";

struct api_tour_options {
    long seed;
    bool quiet, help;
};

#define FIELD(name) offsetof(struct api_tour_options, name)

static const struct option_row rows[] = {
    { "--seed", "N", OPTION_INTEGER, FIELD(seed), 0, 2147483647, "of the sampler's order (42)" },
    { "--quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "print the result line only" },
    { "--help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "print this and end" },
};

/* ---- what stops say ---- */

void tour_say(struct tour *tour, const char *format, ...)
{
    size_t used = strlen(tour->said), room = sizeof tour->said - used;
    int comma = snprintf(tour->said + used, room, "%s", used ? ", " : "");
    va_list arguments;
    va_start(arguments, format);
    if ((size_t)comma < room)
        vsnprintf(tour->said + used + comma, room - (size_t)comma, format, arguments);
    va_end(arguments);
}

void tour_expect(struct tour *tour, bool right)
{
    tour->is_wrong |= !right;
}

bool tour_status(struct tour *tour, int status)
{
    if (status >= 0)
        tour_say(tour, status == HVD_OK ? "HVD_OK" : "%d", status);
    else
        tour_say(tour, "%s", hvd_last_error());
    tour_expect(tour, status >= 0);
    if (status == HVD_ERR_PEER_LOST || status == HVD_ERR_PEER_LEFT)
        problem_from_hvd(tour->problem, tour->call);
    return status >= 0;
}

void tour_number(struct tour *tour, double number, double expected)
{
    tour_say(tour, "%g", number);
    tour_expect(tour, fabs(number - expected) <= 1e-6 * fabs(expected));
}

void tour_elements(struct tour *tour, const float *elements, int count, double first, double step)
{
    char list[100] = "";
    for (int i = 0; i < count; i++) {
        double value = (double)elements[i], expected = first + i * step;
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, used ? " %g" : "%g", value);
        tour_expect(tour, fabs(value - expected) <= 1e-5 * (fabs(expected) + 1e-3));
    }
    tour_say(tour, "[%s]", list);
}

float *tour_numbers(struct tour *tour, int count, double first, double step)
{
    for (int i = 0; i < count; i++)
        tour->input[i] = (float)(first + i * step);
    return tour->input;
}

struct hvd_tensor tour_tensor(const char *tensor_name, const float *input, float *output,
                              const int64_t *rows_of)
{
    return (struct hvd_tensor){
        .name = tensor_name,
        .input = input,
        .output = output,
        .output_size = output ? (size_t)*rows_of * sizeof *output : 0,
        .dtype = HVD_FLOAT32,
        .ndims = 1,
        .dims = rows_of,
    };
}

/* ---- the tour ---- */

static const struct tour_part *const parts[] = {
    &tour_world,     &tour_reductions, &tour_moves,   &tour_sets,
    &tour_optimizer, &tour_training,   &tour_elastic, &tour_device,
};
enum { PARTS = sizeof parts / sizeof *parts };

/* How many stops there were, and at how many this rank got something wrong. */
struct count {
    int calls;
    int64_t wrong;
};

static void visit(struct tour *tour, const struct tour_row *row, bool prints, struct count *count)
{
    tour->said[0] = '\0';
    tour->is_wrong = false;
    tour->call = row->libhvd;
    row->visit(tour, row->arg);
    if (tour->problem->world_broke)
        return;
    count->calls++;
    count->wrong += tour->is_wrong;
    if (prints)
        printf("  %-46s %-44s %s\n", row->horovod, row->libhvd, tour->said);
    if (tour->is_wrong)
        fprintf(stderr, "%s: rank %d: %s: wrong: %s\n", name, tour->rank, row->libhvd, tour->said);
}

/* Returns 0, or -1 with a problem when another rank is lost. */
static int visit_part(struct tour *tour, const struct tour_part *part, bool prints,
                      struct count *count)
{
    if (prints)
        printf("\n%s\n", part->title);
    for (size_t i = 0; i < part->row_count && !tour->problem->world_broke; i++)
        visit(tour, &part->rows[i], prints, count);
    return tour->problem->world_broke ? -1 : 0;
}

static int make_folder(struct tour *tour, struct problem *problem)
{
    const char *parent = getenv("TMPDIR");
    snprintf(tour->folder, sizeof tour->folder, "%s/api_tour.XXXXXX", parent ? parent : "/tmp");
    if (mkdtemp(tour->folder) == NULL)
        return problem_set(problem, EXIT_STATUS_DATA, "%s: cannot make a folder: %s", tour->folder,
                           strerror(errno));
    snprintf(tour->file, sizeof tour->file, "%s/file", tour->folder);
    return 0;
}

static void remove_folder(const struct tour *tour)
{
    unlink(tour->file);
    rmdir(tour->folder);
}

static int tour_init(struct tour *tour, const struct api_tour_options *options,
                     struct problem *problem)
{
    *tour = (struct tour){
        .rank = hvd_rank(), .size = hvd_size(), .seed = options->seed, .problem = problem
    };
    size_t room = (size_t)TOUR_ROOM * (size_t)(tour->size + 1);
    tour->input = calloc(room, sizeof *tour->input);
    tour->output = calloc(room, sizeof *tour->output);
    tour->splits = calloc((size_t)tour->size, sizeof *tour->splits);
    if (!tour->input || !tour->output || !tour->splits)
        return problem_nomem(problem);
    return make_folder(tour, problem);
}

/* A tour that has not come to its end has left something behind. */
static void tour_fini(struct tour *tour)
{
    hvd_optimizer_destroy(tour->optimizer);
    hvd_sampler_destroy(tour->sampler);
    hvd_result_free(&tour->result);
    if (tour->device > 0)
        hvd_unregister_device(tour->device);
    accelerator_destroy(tour->accelerator);
    free(tour->input);
    free(tour->output);
    free(tour->splits);
}

/* The world is there no more after the last stop, so that everything is agreed on before it. */
static int leave(struct tour *tour, bool prints, struct count *count, struct problem *problem)
{
    struct result result;
    int64_t wrong = 0;
    if (hvd_allreduce("wrong", &count->wrong, &wrong, 1, HVD_INT64, HVD_SUM) != HVD_OK)
        return problem_from_hvd(problem, "adding up what is wrong");
    program_flush(problem);
    int status = agree_to_go_on(name, problem);
    if (status != 0)
        return status;
    int64_t wrong_before = count->wrong;
    visit_part(tour, &tour_end, prints, count);
    wrong += count->wrong - wrong_before;
    result_begin(&result);
    result_integer(&result, "ranks", tour->size);
    result_integer(&result, "calls", count->calls);
    result_integer(&result, "wrong", wrong);
    if (tour->rank == 0)
        printf("%s%s\n", prints ? "\n" : "", result.line);
    if (program_flush(problem) < 0)
        fprintf(stderr, "%s: %s\n", name, problem->text);
    /* Another rank's status would end rank 0 before it has printed. */
    int64_t told = tour->rank == 0 ? wrong : count->wrong - wrong_before;
    return told > 0 || problem->exit_status != 0;
}

static int run(void *arg, struct problem *problem)
{
    const struct api_tour_options *options = arg;
    struct tour tour;
    struct count count = { 0 };
    tour_init(&tour, options, problem);
    int status = agree_to_go_on(name, problem);
    bool prints = program_prints() && !options->quiet;
    if (status == 0 && prints)
        printf("  %-46s %-44s rank 0 of %d got\n", "Horovod", "libhvd", tour.size);
    for (int i = 0; i < PARTS && status == 0; i++)
        status = visit_part(&tour, parts[i], prints, &count);
    remove_folder(&tour); /* before rank 0 ends the job because something was wrong */
    if (status == 0)
        status = leave(&tour, prints, &count, problem);
    tour_fini(&tour);
    return status;
}

int main(int argc, char **argv)
{
    struct api_tour_options options = { .seed = 42 };
    struct program program = {
        .name = name,
        .summary = "Every call of the library once, beside Horovod's, and what it returned.",
        .rows = rows,
        .row_count = sizeof rows / sizeof *rows,
        .options = &options,
        .help = &options.help,
        .run = run,
    };
    return program_main(&program, argc, argv);
}
