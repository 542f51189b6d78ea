/* SPDX-License-Identifier: Apache-2.0 */
/* What fashion_mnist can be told on its command line. */
#ifndef EXAMPLES_FASHION_OPTIONS_H
#define EXAMPLES_FASHION_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "examples/support/optimizer.h"
#include "examples/support/problem.h"

struct fashion_options {
    long epochs, batch;
    long limit, test_limit; /* 0: all images */
    long seed;
    double learning_rate; /* 0: 0.001 x the number of ranks */
    const char *optimizer_name;
    enum optimizer_kind optimizer;
    const char *data;       /* directory */
    const char *checkpoint; /* file, or NULL */
    bool no_dropout, quiet, help;
};

/* Defaults, then the command line. Returns 0, or -1 with a problem of exit status 2. */
int fashion_options_parse(struct fashion_options *options, int argc, char **argv,
                          struct problem *problem);

void fashion_options_print_help(FILE *out);

#endif
