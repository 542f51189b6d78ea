/* SPDX-License-Identifier: Apache-2.0 */
/* What softmax_regression can be told on its command line. */
#ifndef EXAMPLES_SOFTMAX_OPTIONS_H
#define EXAMPLES_SOFTMAX_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "examples/support/options.h"

struct softmax_options {
    long steps, batches; /* batches of each rank in a step */
    long seed, test_limit;
    long bandwidth; /* of the accelerator, in bytes/s; 0: as fast as it goes */
    double learning_rate;
    const char *data;              /* directory */
    const char *checkpoint, *plot; /* files, or NULL */
    bool quiet, help;
};

extern const struct softmax_options softmax_defaults;
extern const struct option_row softmax_option_rows[];
extern const size_t softmax_option_row_count;

#endif
