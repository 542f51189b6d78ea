/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of the programs that fit networks (fit.h). */
#ifndef EXAMPLES_FIT_OPTIONS_H
#define EXAMPLES_FIT_OPTIONS_H

#include <stdbool.h>

#include "examples/fit.h"
#include "examples/support/options.h"
#include "examples/support/problem.h"

struct fit_options {
    const struct fit_equation *equation;
    const char *mode_name;
    enum fit_mode mode;
    long steps, seed;
    long points;                   /* of each rank; 0: as the equation says */
    double learning_rate;          /* 0: as the equation says */
    const char *plot, *checkpoint; /* NULL: none */
    bool quiet, help;
};

enum { FIT_OPTION_ROWS = 9, FIT_HELP_SIZE = 160 };

struct fit_option_table {
    struct option_row rows[FIT_OPTION_ROWS];
    char help[FIT_OPTION_ROWS][FIT_HELP_SIZE];
};

struct fit_options fit_options_defaults(const struct fit_equation *equation);

/* The equation's defaults are in the texts. The rows point into the table. */
void fit_options_table(struct fit_option_table *table, const struct fit_equation *equation);

/* For program.h. */
int fit_options_check(void *options, struct problem *problem);

const char *fit_mode_name(enum fit_mode mode);

/* The number of points of each rank, and the learning rate of the first step. */
long fit_points(const struct fit_options *options, int size);
double fit_learning_rate(const struct fit_options *options, int size);

#endif
