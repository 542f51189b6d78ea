/* SPDX-License-Identifier: Apache-2.0 */
/* hvd-bandwidth's command line: the names and letters of nccl-tests where they have the same
 * meaning. */
#ifndef SRC_TOOLS_BANDWIDTH_OPTIONS_H
#define SRC_TOOLS_BANDWIDTH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "examples/support/options.h"
#include "examples/support/problem.h"

struct bandwidth_options {
    long min_size, max_size, step_size, step_factor; /* bytes; step_size 0: by factor */
    long iterations, warm_up, root, check, seed;
    const char *operation_list, *type_list, *op_list;
    bool latency, tsv, quiet, help;
    unsigned operations, types, ops; /* of the lists: a bit for each that is in them */
};

extern const struct option_row bandwidth_option_rows[];
extern const size_t bandwidth_option_row_count;
extern const struct bandwidth_options bandwidth_defaults;

/* Reads the lists and fills in what follows from other options. Returns 0, or -1 with a problem
 * of exit status 2. */
int bandwidth_options_check(void *options, struct problem *problem);

/* "float", "sum": as nccl-tests write types and ops. */
const char *bandwidth_type_name(int dtype);
const char *bandwidth_op_name(int op);

#endif
