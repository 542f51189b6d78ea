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
    const char *device;
    bool latency, tsv, quiet, help;
    unsigned operations, types, ops; /* from the lists: a bit for each entry */
    bool cuda;                       /* from `device`: memory of a GPU */
    int ordinal;                     /* which; HVD_CUDA_BY_LOCAL_RANK: by local rank */
};

extern const struct option_row bandwidth_option_rows[];
extern const size_t bandwidth_option_row_count;
extern const struct bandwidth_options bandwidth_defaults;

/* Parses the lists and fills in members that follow from other options. Returns 0, or -1 with a
 * problem of exit status 2. */
int bandwidth_options_check(void *options, struct problem *problem);

/* "float", "sum": the names of types and ops in nccl-tests. */
const char *bandwidth_type_name(int dtype);
const char *bandwidth_op_name(int op);

#endif
