/* SPDX-License-Identifier: Apache-2.0 */
/* One measurement: an operation on `count` elements, called again and again.
 *
 *   warm up; agree how many iterations; barrier; call in a loop; what each rank's mean is;
 *   put in what the result must be made of, call once more, count what is wrong */
#ifndef SRC_TOOLS_BANDWIDTH_MEASURE_H
#define SRC_TOOLS_BANDWIDTH_MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "examples/support/problem.h"
#include "src/tools/bandwidth_buffers.h"
#include "src/tools/bandwidth_operations.h"

/* Without --iters, a measurement has as many iterations as take MEASURE_SECONDS, within these
 * limits. */
#define MEASURE_SECONDS 0.1
enum { MEASURE_ITERATIONS_MIN = 5, MEASURE_ITERATIONS_MAX = 1000 };

struct measure_settings {
    long warm_up;    /* calls */
    long iterations; /* 0: as many as fit */
    bool check;
};

/* The results of all ranks together. */
struct measurement {
    bool taken;
    long iterations;
    double fastest, mean, slowest; /* seconds per call, of the ranks' means */
    int64_t wrong;                 /* elements on all ranks; 0 unless checked */
};

/* The sizes of both buffers for a transfer, large enough for every enum place of the operation. */
void measure_sizes(const struct operation *operation, const struct transfer *transfer,
                   size_t *input_size, size_t *output_size);

/* Every rank makes the same call. Returns 0, or -1 with a problem when a call failed. */
int measure(const struct operation *operation, const struct transfer *transfer, enum place place,
            const struct measure_settings *settings, const struct buffers *buffers,
            struct measurement *measurement, struct problem *problem);

#endif
