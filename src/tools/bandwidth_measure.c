/* SPDX-License-Identifier: Apache-2.0 */
/* Measuring one operation at one size; see bandwidth_measure.h.
 *
 * During the measurement the data are zeros, which stay zeros however often they are reduced in
 * place. Calls follow each other without a barrier. A trial on all ranks gives the number of
 * iterations; the slowest rank decides, so that all ranks make the same number. Fails when a call
 * fails. */
#include "src/tools/bandwidth_measure.h"

#include <string.h>

#include "examples/support/agreement.h"
#include "examples/support/program.h"

enum { TRIAL_CALLS = 2 };

/* An operation with its memory. */
struct run {
    const struct operation *operation;
    const struct transfer *transfer;
    const struct buffers *buffers;
    void *input, *output;             /* of the call */
    void *input_image, *output_image; /* host memory that has, or gets, the same */
    size_t input_size, output_size;   /* bytes */
    struct problem *problem;
};

static struct run run_make(const struct operation *operation, const struct transfer *transfer,
                           enum place place, const struct buffers *buffers, struct problem *problem)
{
    size_t size = hvd_dtype_size(transfer->data.dtype);
    struct run run = {
        .operation = operation,
        .transfer = transfer,
        .buffers = buffers,
        .input = buffers->input,
        .output = buffers->output,
        .input_image = buffers->input_image,
        .output_image = buffers->output_image,
        .input_size = operation_input_count(operation, transfer) * size,
        .output_size = operation_output_count(operation, transfer) * size,
        .problem = problem,
    };
    if (place == IN_PLACE) {
        run.input = operation_input_in(operation, transfer, run.output);
        run.input_image = operation_input_in(operation, transfer, run.output_image);
    }
    return run;
}

void measure_sizes(const struct operation *operation, const struct transfer *transfer,
                   size_t *input_size, size_t *output_size)
{
    struct run run = run_make(operation, transfer, OUT_OF_PLACE, &(struct buffers){ 0 }, NULL);
    *input_size = operation->places[OUT_OF_PLACE] ? run.input_size : 0;
    *output_size = run.output_size;
    if (operation->places[IN_PLACE] && run.input_size > run.output_size)
        *output_size = run.input_size;
}

static int call(const struct run *run, long times)
{
    for (long i = 0; i < times; i++)
        if (run->operation->call(run->transfer, run->input, run->output) != HVD_OK)
            return problem_from_hvd(run->problem, run->operation->name);
    return 0;
}

/* Seconds per call on this rank, or less than 0 with a problem. */
static double time_calls(const struct run *run, long times)
{
    if (hvd_barrier() != HVD_OK)
        return problem_from_hvd(run->problem, "barrier");
    double begin = program_seconds();
    if (call(run, times) < 0)
        return -1;
    return (program_seconds() - begin) / (double)times;
}

/* Combines a number from each rank. */
static int fold(const struct run *run, double mine, struct measurement *measurement)
{
    double both[2] = { mine, -mine }, most[2], sum;
    if (hvd_allreduce("hvd-bandwidth.most", both, most, 2, HVD_FLOAT64, HVD_MAX) != HVD_OK ||
        hvd_allreduce("hvd-bandwidth.sum", &mine, &sum, 1, HVD_FLOAT64, HVD_SUM) != HVD_OK)
        return problem_from_hvd(run->problem, "comparing the ranks' times");
    measurement->slowest = most[0];
    measurement->fastest = -most[1];
    measurement->mean = sum / run->transfer->data.ranks;
    return 0;
}

static long iterations_that_fit(double seconds_per_call)
{
    if (seconds_per_call * MEASURE_ITERATIONS_MAX <= MEASURE_SECONDS)
        return MEASURE_ITERATIONS_MAX;
    long fit = (long)(MEASURE_SECONDS / seconds_per_call);
    return fit > MEASURE_ITERATIONS_MIN ? fit : MEASURE_ITERATIONS_MIN;
}

static int choose_iterations(const struct run *run, const struct measure_settings *settings,
                             struct measurement *measurement)
{
    measurement->iterations = settings->iterations;
    if (settings->iterations > 0)
        return 0;
    double trial = time_calls(run, TRIAL_CALLS);
    if (trial < 0 || fold(run, trial, measurement) < 0)
        return -1;
    measurement->iterations = iterations_that_fit(measurement->slowest);
    return 0;
}

/* In place, the input is a part of the output, or begins there and is longer (alltoall has no such
 * form, reducescatter has). */
static int run_put(const struct run *run)
{
    bool inside = run->input_image != run->buffers->input_image;
    size_t more = inside && run->input_size > run->output_size ? run->input_size : run->output_size;
    return buffers_put(run->buffers, inside ? 0 : run->input_size, more, run->problem);
}

static int take_time(const struct run *run, const struct measure_settings *settings,
                     struct measurement *measurement)
{
    memset(run->output_image, 0, run->output_size);
    memset(run->input_image, 0, run->input_size);
    if (run_put(run) < 0 || call(run, settings->warm_up) < 0 ||
        choose_iterations(run, settings, measurement) < 0)
        return -1;
    double mine = time_calls(run, measurement->iterations);
    return mine < 0 ? -1 : fold(run, mine, measurement);
}

/* Writes the input of this rank into its image: one for all ranks, or a part for each. */
static void put_in(const struct run *run)
{
    const struct transfer *transfer = run->transfer;
    struct data_table table;
    size_t part = transfer->count * hvd_dtype_size(transfer->data.dtype);
    bool differ = run->operation->takes_all && !run->operation->reduces;
    memset(run->output_image, 0xff, run->output_size);
    for (int to = 0; to < (differ ? transfer->data.ranks : 1); to++) {
        size_t count = differ ? transfer->count : operation_input_count(run->operation, transfer);
        data_input(&transfer->data, transfer->rank, to, &table);
        data_write(&transfer->data, &table, (char *)run->input_image + (size_t)to * part, 0, count);
    }
}

static size_t count_wrong_reduced(const struct run *run)
{
    const struct transfer *transfer = run->transfer;
    struct data_table table;
    size_t first = run->operation->in_parts ? (size_t)transfer->rank * transfer->count : 0;
    data_reduced(&transfer->data, &table);
    return data_count_wrong(&transfer->data, &table, run->output_image, first, transfer->count);
}

static size_t count_wrong_moved(const struct run *run)
{
    const struct transfer *transfer = run->transfer;
    struct data_table table;
    size_t wrong = 0, part = transfer->count * hvd_dtype_size(transfer->data.dtype);
    int parts = run->operation->in_parts ? transfer->data.ranks : 1;
    for (int i = 0; i < parts; i++) {
        int from = run->operation->rooted ? transfer->root : i;
        data_input(&transfer->data, from, run->operation->takes_all ? transfer->rank : 0, &table);
        wrong += data_count_wrong(&transfer->data, &table,
                                  (char *)run->output_image + (size_t)i * part, 0, transfer->count);
    }
    return wrong;
}

static int bandwidth_measure_check(const struct run *run, struct measurement *measurement)
{
    put_in(run);
    if (run_put(run) < 0 || call(run, 1) < 0 ||
        buffers_get(run->buffers, run->output_size, run->problem) < 0)
        return -1;
    int64_t wrong =
        (int64_t)(run->operation->reduces ? count_wrong_reduced(run) : count_wrong_moved(run));
    if (hvd_allreduce("hvd-bandwidth.wrong", &wrong, &measurement->wrong, 1, HVD_INT64, HVD_SUM) !=
        HVD_OK)
        return problem_from_hvd(run->problem, "adding up what is wrong");
    return 0;
}

int measure(const struct operation *operation, const struct transfer *transfer, enum place place,
            const struct measure_settings *settings, const struct buffers *buffers,
            struct measurement *measurement, struct problem *problem)
{
    struct run run = run_make(operation, transfer, place, buffers, problem);
    *measurement = (struct measurement){ 0 };
    if (take_time(&run, settings, measurement) < 0)
        return -1;
    if (settings->check && operation->moves && bandwidth_measure_check(&run, measurement) < 0)
        return -1;
    measurement->taken = true;
    return 0;
}
