/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs that fit networks do, in order; see fit.h. */
#include "examples/fit.h"

#include <stdio.h>

#include "examples/fit_options.h"
#include "examples/fit_report.h"
#include "examples/fit_training.h"
#include "examples/support/agreement.h"
#include "examples/support/program.h"

static void announce(const struct fit *fit)
{
    const struct fit_options *options = fit->options;
    int size = fit->place.size;
    if (program_prints() && !options->quiet)
        printf("%s: %s, %d rank%s x %zu points, %ld steps of Adam, learning rate %g\n",
               fit->equation->program, fit_mode_name(options->mode), size, size == 1 ? "" : "s",
               fit->points, options->steps, fit_learning_rate(options, size));
}

static int fit_run(struct fit *fit, const struct fit_options *options, struct problem *problem)
{
    fit_init(fit, options, problem);
    int status = agree_to_go_on(options->equation->program, problem);
    if (status != 0)
        return status;
    announce(fit);
    if (fit_start(fit, problem) < 0 || fit_train(fit, problem) < 0)
        return -1;
    return fit_report(fit, problem);
}

static int run(void *options, struct problem *problem)
{
    struct fit fit;
    int status = fit_run(&fit, options, problem);
    fit_fini(&fit);
    return status;
}

int fit_main(const struct fit_equation *equation, int argc, char **argv)
{
    struct fit_options options = fit_options_defaults(equation);
    struct fit_option_table table;
    fit_options_table(&table, equation);
    const struct program program = {
        .name = equation->program,
        .summary = equation->summary,
        .rows = table.rows,
        .row_count = FIT_OPTION_ROWS,
        .options = &options,
        .help = &options.help,
        .check = fit_options_check,
        .run = run,
    };
    return program_main(&program, argc, argv);
}
