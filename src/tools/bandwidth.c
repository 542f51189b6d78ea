/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how fast the ranks of a job reach each other, and checks the data that arrives: the
 * first program to run on a new cluster.
 *
 *     hvdrun -np 8 -H a:4,b:4 hvd-bandwidth
 *
 *   open the GPU of --device; get memory for the greatest size; say who takes part;
 *   for each operation, type, op and size: measure out of place and in place, print a row;
 *   the average bus bandwidth, and how many elements were wrong.
 *
 * A mistake on the command line, a root that is no rank, and sizes that do not fit into memory end
 * every rank with status 2. Wrong elements, a lost rank, a GPU that cannot be opened and output
 * that cannot be written end every rank with status 1. The reason is one line, of the lowest rank
 * that has it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/support/program.h"
#include "hvd_cuda.h"
#include "src/tools/bandwidth_buffers.h"
#include "src/tools/bandwidth_measure.h"
#include "src/tools/bandwidth_memory.h"
#include "src/tools/bandwidth_operations.h"
#include "src/tools/bandwidth_options.h"
#include "src/tools/bandwidth_report.h"

static const char name[] = "hvd-bandwidth";

struct bandwidth {
    const struct bandwidth_options *options;
    int rank, ranks;
    int device;                /* to be closed; 0: host memory */
    struct rank_place *places; /* owned; one for each rank */
    struct buffers buffers;
    struct report report;
    struct problem *problem;
};

/* An operation with a type and an op; a barrier has neither. */
struct kind {
    const struct operation *operation;
    enum hvd_dtype dtype;
    enum hvd_op op;
};

typedef int kind_fn(struct bandwidth *bandwidth, const struct kind *kind, void *arg);

/* Calls `visit` for each requested and possible kind of an operation, until one fails. */
static int each_kind(struct bandwidth *bandwidth, const struct operation *operation, kind_fn *visit,
                     void *arg)
{
    const struct bandwidth_options *options = bandwidth->options;
    unsigned types = operation->moves ? options->types : 1u << HVD_UINT8;
    unsigned ops = operation->reduces ? options->ops : 1u << HVD_SUM;
    for (unsigned type = 0; types >> type; type++) {
        for (unsigned op = 0; ops >> op; op++) {
            struct kind kind = { operation, (enum hvd_dtype)type, (enum hvd_op)op };
            if (types >> type & ops >> op & 1 && operation_can(operation, kind.dtype, kind.op) &&
                visit(bandwidth, &kind, arg) < 0)
                return -1;
        }
    }
    return 0;
}

static struct transfer transfer_make(const struct bandwidth *bandwidth, const struct kind *kind,
                                     long size)
{
    struct transfer transfer = {
        .data = { .dtype = kind->dtype,
                  .reduced = kind->operation->reduces,
                  .op = kind->op,
                  .ranks = bandwidth->ranks,
                  .seed = (uint64_t)bandwidth->options->seed },
        .root = (int)bandwidth->options->root,
        .rank = bandwidth->rank,
        .device = bandwidth->device,
    };
    transfer.count = operation_count(kind->operation, &transfer.data, (size_t)size);
    return transfer;
}

/* ---- before the first measurement ---- */

struct memory_need {
    size_t input, output;
};

static int add_need(struct bandwidth *bandwidth, const struct kind *kind, void *arg)
{
    struct memory_need *need = arg;
    struct transfer transfer = transfer_make(bandwidth, kind, bandwidth->options->max_size);
    size_t input, output;
    measure_sizes(kind->operation, &transfer, &input, &output);
    need->input = input > need->input ? input : need->input;
    need->output = output > need->output ? output : need->output;
    return 0;
}

/* "64M", if the size is a multiple of that. */
static const char *size_text(char text[24], long size)
{
    static const char suffixes[] = " KMGT";
    int suffix = 0;
    for (; size > 0 && size % 1024 == 0 && suffixes[suffix + 1]; suffix++)
        size /= 1024;
    snprintf(text, 24, suffix ? "%ld%c" : "%ld", size, suffixes[suffix]);
    return text;
}

static int does_not_fit(struct bandwidth *bandwidth, double needed, double left)
{
    char wanted[24], possible[24];
    long size = bandwidth->options->max_size, fitting = 1;
    while ((double)fitting * 2 <= (double)size * left / needed)
        fitting *= 2;
    return problem_set(bandwidth->problem, EXIT_STATUS_USAGE,
                       "--maxbytes %s takes %.1f GiB of the host of rank %d, which has %.1f GiB "
                       "left; %s would fit",
                       size_text(wanted, size), needed * 0x1p-30, bandwidth->rank, left * 0x1p-30,
                       size_text(possible, fitting));
}

static int get_memory(struct bandwidth *bandwidth)
{
    struct memory_need need = { 0 };
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (bandwidth->options->operations >> i & 1)
            each_kind(bandwidth, &operations[i], add_need, &need);
    double needed = ((double)need.input + (double)need.output) * hvd_local_size();
    double left = memory_available() * 0.9; /* the library and the system need some, too */
    if (needed > left)
        return does_not_fit(bandwidth, needed, left);
    bandwidth->places = calloc((size_t)bandwidth->ranks, sizeof *bandwidth->places);
    if (bandwidth->places == NULL)
        return problem_nomem(bandwidth->problem);
    return buffers_init(&bandwidth->buffers, bandwidth->device, need.input, need.output,
                        bandwidth->problem);
}

/* Ranks may share a GPU; each has its part of it then. */
static int open_device(struct bandwidth *bandwidth)
{
    const struct bandwidth_options *options = bandwidth->options;
    if (!options->cuda)
        return 0;
    int rc = hvd_cuda_open(options->ordinal, &bandwidth->device);
    if (rc == HVD_OK)
        return 0;
    return problem_set(
        bandwidth->problem, rc == HVD_ERR_INVALID ? EXIT_STATUS_USAGE : EXIT_STATUS_DATA,
        "rank %d: --device %.60s: %s", bandwidth->rank, options->device, hvd_last_error());
}

static int bandwidth_prepare(struct bandwidth *bandwidth)
{
    if (bandwidth->options->root >= bandwidth->ranks)
        return problem_set(bandwidth->problem, EXIT_STATUS_USAGE,
                           "--root wants a rank below %d, not %ld", bandwidth->ranks,
                           bandwidth->options->root);
    return open_device(bandwidth) < 0 ? -1 : get_memory(bandwidth);
}

/* Every rank tells all other ranks its host and process. */
static int introduce(struct bandwidth *bandwidth)
{
    struct rank_place mine = { .pid = getpid() };
    gethostname(mine.host, sizeof mine.host - 1);
    mine.ordinal = -1;
    if (bandwidth->device > 0 &&
        hvd_cuda_describe(bandwidth->device, &mine.ordinal, mine.gpu, sizeof mine.gpu) != HVD_OK)
        return problem_from_hvd(bandwidth->problem, "asking for the name of the GPU");
    if (hvd_allgather("hvd-bandwidth.places", &mine, bandwidth->places, sizeof mine, HVD_UINT8) !=
        HVD_OK)
        return problem_from_hvd(bandwidth->problem, "asking who takes part");
    report_begin(&bandwidth->report, bandwidth->options, bandwidth->ranks, hvd_cross_size(),
                 bandwidth->places);
    return 0;
}

/* ---- measuring ---- */

static int measure_row(struct bandwidth *bandwidth, const struct kind *kind,
                       const struct transfer *transfer)
{
    const struct bandwidth_options *options = bandwidth->options;
    struct measure_settings settings = {
        .warm_up = options->warm_up,
        .iterations = options->iterations,
        .check = options->check,
    };
    struct report_row row = { .operation = kind->operation, .transfer = transfer };
    for (int place = 0; place < PLACES; place++)
        if (kind->operation->places[place] &&
            measure(kind->operation, transfer, (enum place)place, &settings, &bandwidth->buffers,
                    &row.in[place], bandwidth->problem) < 0)
            return -1;
    report_row(&bandwidth->report, &row);
    return 0;
}

static long next_size(const struct bandwidth_options *options, long size)
{
    return options->step_size > 0 ? size + options->step_size : size * options->step_factor;
}

/* Sizes with the same number of elements are measured once. */
static int measure_kind(struct bandwidth *bandwidth, const struct kind *kind, void *arg)
{
    const struct bandwidth_options *options = bandwidth->options;
    struct transfer transfer = transfer_make(bandwidth, kind, options->min_size);
    size_t previous = SIZE_MAX;
    (void)arg;
    report_section(&bandwidth->report, kind->operation, &transfer.data);
    for (long size = options->min_size; size <= options->max_size;
         size = next_size(options, size)) {
        transfer = transfer_make(bandwidth, kind, size);
        if (transfer.count != previous && measure_row(bandwidth, kind, &transfer) < 0)
            return -1;
        previous = transfer.count;
    }
    return 0;
}

static int measure_all(struct bandwidth *bandwidth)
{
    for (int i = 0; i < OPERATION_COUNT; i++)
        if (bandwidth->options->operations >> i & 1 &&
            each_kind(bandwidth, &operations[i], measure_kind, NULL) < 0)
            return -1;
    return 0;
}

/* Returns the exit status, the same on every rank. */
static int conclude(struct bandwidth *bandwidth)
{
    int64_t wrong = bandwidth->report.wrong;
    report_end(&bandwidth->report);
    program_flush(bandwidth->problem);
    if (wrong > 0)
        problem_set(bandwidth->problem, EXIT_STATUS_DATA,
                    "%" PRId64 " elements of results are wrong", wrong);
    return agree_to_go_on(name, bandwidth->problem);
}

static int measure_in_world(struct bandwidth *bandwidth)
{
    bandwidth_prepare(bandwidth);
    int status = agree_to_go_on(name, bandwidth->problem);
    if (status != 0)
        return status;
    if (introduce(bandwidth) < 0 || measure_all(bandwidth) < 0)
        return -1;
    return conclude(bandwidth);
}

static int bandwidth_run(void *options, struct problem *problem)
{
    struct bandwidth bandwidth = {
        .options = options,
        .rank = hvd_rank(),
        .ranks = hvd_size(),
        .problem = problem,
    };
    int status = measure_in_world(&bandwidth);
    buffers_fini(&bandwidth.buffers);
    if (bandwidth.device > 0)
        hvd_cuda_close(bandwidth.device);
    free(bandwidth.places);
    return status;
}

int main(int argc, char **argv)
{
    struct bandwidth_options options = bandwidth_defaults;
    struct program program = {
        .name = name,
        .summary = "Latency and bandwidth of the library's operations, by size; under hvdrun.",
        .rows = bandwidth_option_rows,
        .row_count = bandwidth_option_row_count,
        .options = &options,
        .help = &options.help,
        .check = bandwidth_options_check,
        .run = bandwidth_run,
    };
    return program_main(&program, argc, argv);
}
