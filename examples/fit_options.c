/* SPDX-License-Identifier: Apache-2.0 */
/* Options from a table, and what follows from them and the number of ranks.
 *
 * Fails for what options.h refuses, for an unknown mode, and for a checkpoint of an ensemble, which
 * has as many models as ranks. */
#include "examples/fit_options.h"

#include <stdio.h>
#include <string.h>

enum { SEED = 42 };

static const char *const mode_names[FIT_MODES] = {
    [FIT_DATA_PARALLEL] = "data-parallel",
    [FIT_ENSEMBLE] = "ensemble",
};

#define FIELD(name) offsetof(struct fit_options, name)

/* Where an equation has a default of its own, fit_options_table() adds it to the text. */
static const struct option_row rows[FIT_OPTION_ROWS] = {
    { "--mode", "MODE", OPTION_TEXT, FIELD(mode_name), 0, 0,
      "data-parallel or ensemble (data-parallel)" },
    { "--steps", "N", OPTION_INTEGER, FIELD(steps), 1, 1e7, "of Adam" },
    { "--learning-rate", "X", OPTION_REAL, FIELD(learning_rate), 1e-9, 1e3, "used as given" },
    { "--points", "N", OPTION_INTEGER, FIELD(points), 2, 1e5, "of each rank" },
    { "--seed", "N", OPTION_INTEGER, FIELD(seed), 0, 2147483647, "of all random numbers" },
    { "--plot", "FILE", OPTION_PATH, FIELD(plot), 0, 0, "rank 0 draws the networks there, as SVG" },
    { "--checkpoint", "FILE", OPTION_PATH, FIELD(checkpoint), 0, 0,
      "rank 0 writes the parameters there (data-parallel only)" },
    { "--quiet", NULL, OPTION_FLAG, FIELD(quiet), 0, 0, "print the result line only" },
    { "--help", NULL, OPTION_FLAG, FIELD(help), 0, 0, "print this and end" },
};

struct fit_options fit_options_defaults(const struct fit_equation *equation)
{
    return (struct fit_options){
        .equation = equation,
        .mode_name = mode_names[FIT_DATA_PARALLEL],
        .steps = equation->steps,
        .seed = SEED,
    };
}

static void put_points(char *text, size_t size, const struct fit_equation *equation)
{
    long together = equation->points[FIT_DATA_PARALLEL], alone = equation->points[FIT_ENSEMBLE];
    char more[40] = "";
    if (alone != together)
        snprintf(more, sizeof more, ", ensemble %ld", alone);
    snprintf(text, size, "%ld%s; all together at least %ld", together, more, equation->least);
}

/* The default of the option at `offset`, in words; empty if its row tells it. */
static void put_default(char *text, size_t size, size_t offset, const struct fit_equation *equation)
{
    text[0] = '\0';
    if (offset == FIELD(steps))
        snprintf(text, size, "%ld", equation->steps);
    if (offset == FIELD(learning_rate))
        snprintf(text, size, "%g, data-parallel x the number of ranks", equation->learning_rate);
    if (offset == FIELD(points))
        put_points(text, size, equation);
    if (offset == FIELD(seed))
        snprintf(text, size, "%d", SEED);
}

void fit_options_table(struct fit_option_table *table, const struct fit_equation *equation)
{
    memcpy(table->rows, rows, sizeof rows);
    for (int i = 0; i < FIT_OPTION_ROWS; i++) {
        char preset[FIT_HELP_SIZE / 2];
        put_default(preset, sizeof preset, rows[i].offset, equation);
        if (preset[0] == '\0')
            continue;
        snprintf(table->help[i], sizeof table->help[i], "%s (%s)", rows[i].help, preset);
        table->rows[i].help = table->help[i];
    }
}

static int choose_mode(struct fit_options *options, struct problem *problem)
{
    for (int mode = 0; mode < FIT_MODES; mode++) {
        if (strcmp(options->mode_name, mode_names[mode]) == 0) {
            options->mode = (enum fit_mode)mode;
            return 0;
        }
    }
    return problem_set(problem, EXIT_STATUS_USAGE,
                       "--mode wants data-parallel or ensemble, not '%.60s'", options->mode_name);
}

int fit_options_check(void *arg, struct problem *problem)
{
    struct fit_options *options = arg;
    if (choose_mode(options, problem) < 0)
        return -1;
    if (options->checkpoint != NULL && options->mode == FIT_ENSEMBLE)
        return problem_set(problem, EXIT_STATUS_USAGE,
                           "--checkpoint '%.60s' wants --mode data-parallel: an ensemble has as "
                           "many models as ranks",
                           options->checkpoint);
    return 0;
}

const char *fit_mode_name(enum fit_mode mode)
{
    return mode_names[mode];
}

long fit_points(const struct fit_options *options, int size)
{
    const struct fit_equation *equation = options->equation;
    long own = equation->points[options->mode], share = (equation->least + size - 1) / size;
    if (options->points != 0)
        return options->points;
    return own > share ? own : share;
}

double fit_learning_rate(const struct fit_options *options, int size)
{
    double rate = options->equation->learning_rate;
    if (options->learning_rate != 0)
        return options->learning_rate;
    return options->mode == FIT_DATA_PARALLEL ? rate * size : rate;
}
