/* SPDX-License-Identifier: Apache-2.0 */
/* What fashion_mnist can be told on its command line. */
#ifndef EXAMPLES_FASHION_OPTIONS_H
#define EXAMPLES_FASHION_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "examples/support/optimizer.h"
#include "examples/support/options.h"

struct fashion_options {
    long epochs, batch;
    long steps;             /* 0: until the epochs are over */
    long limit, test_limit; /* 0: all images */
    long seed;
    double learning_rate; /* 0: 0.001 x the number of ranks */
    double warmup_epochs;
    const char *optimizer_name;
    enum optimizer_kind optimizer;
    const char *data;       /* directory */
    const char *checkpoint; /* file, or NULL */
    const char *plot;       /* file, or NULL */
    bool resume, no_dropout, quiet, help;
};

extern const struct option_row fashion_option_rows[];
extern const size_t fashion_option_row_count;
extern const struct fashion_options fashion_defaults;

/* For struct program. Fails for an optimizer that does not exist, and for --resume without a file
 * to go on from. */
int fashion_options_check(void *options, struct problem *problem);

#endif
