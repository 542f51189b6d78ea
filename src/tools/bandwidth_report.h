/* SPDX-License-Identifier: Apache-2.0 */
/* The output of hvd-bandwidth, on rank 0: a row for each measurement, in the layout of nccl-tests,
 * in that of the OSU benchmarks, or with tabs; and the summary of all rows. */
#ifndef SRC_TOOLS_BANDWIDTH_REPORT_H
#define SRC_TOOLS_BANDWIDTH_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "src/tools/bandwidth_measure.h"
#include "src/tools/bandwidth_operations.h"
#include "src/tools/bandwidth_options.h"

/* The host and process of a rank. */
struct rank_place {
    int64_t pid;
    char host[64];
    int ordinal; /* of its GPU; -1: its memory is the host's */
    char gpu[64];
};

/* A line of the table: one size. */
struct report_row {
    const struct operation *operation;
    const struct transfer *transfer;
    struct measurement in[PLACES]; /* some may not be measured */
};

struct report {
    const struct bandwidth_options *options;
    const struct report_layout *layout;
    int ranks;
    const struct operation *operation; /* of the latest section */
    double busbw_sum;                  /* GB/s */
    int busbw_count;
    double latency; /* seconds of the first measurement */
    int64_t wrong;
};

/* Every rank keeps a report and makes the same calls; rank 0 prints. */
void report_begin(struct report *report, const struct bandwidth_options *options, int ranks,
                  int hosts, const struct rank_place *places);
/* Call this before the rows of an operation with a type and an op. */
void report_section(struct report *report, const struct operation *operation,
                    const struct data *data);
void report_row(struct report *report, const struct report_row *row);
void report_end(struct report *report);

#endif
