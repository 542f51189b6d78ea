/* SPDX-License-Identifier: Apache-2.0 */
/* What synthetic_benchmark can be told on its command line. */
#ifndef EXAMPLES_SYNTHETIC_OPTIONS_H
#define EXAMPLES_SYNTHETIC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "examples/models/model.h"
#include "examples/support/options.h"
#include "examples/synthetic_compute.h"
#include "hvd_optimizer.h"

struct synthetic_options {
    const char *model_name;
    struct model model; /* of this name, shrunk */
    long batch_size, warmup_batches, batches_per_iter, iters;
    const char *compression_name;
    enum hvd_compression compression;
    const char *compute_text; /* NULL: as an accelerator */
    struct compute compute;
    long groups, shrink, seed;
    const char *plot; /* file, or NULL */
    bool fp16, adasum, no_overlap, device, quiet, help;
};

extern const struct option_row synthetic_option_rows[];
extern const size_t synthetic_option_row_count;
extern const struct synthetic_options synthetic_defaults;

/* For struct program: from names to what they stand for. Fails for a name that does not exist, and
 * for options that exclude each other. */
int synthetic_options_check(void *options, struct problem *problem);

#endif
