/* SPDX-License-Identifier: Apache-2.0 */
/* The layouts of the output, in a table; see bandwidth_report.h. The columns of the first layout
 * are those of nccl-tests, so that their parsers read ours: lines with "#" are for people, a line
 * without has 13 fields. "N/A" stands where the library has no such form, or nothing was checked.
 * Nothing here fails: the program checks once, at its end, whether output was lost. */
#include "src/tools/bandwidth_report.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "examples/support/program.h"
#include "examples/support/result.h"

struct report_layout {
    void (*begin)(const struct report *report, int hosts, const struct rank_place *places);
    void (*section)(const struct report *report, const struct operation *operation,
                    const struct data *data);
    void (*row)(const struct report *report, const struct report_row *row);
    void (*end)(const struct report *report);
};

/* A number in `width` columns, with fewer digits behind the point if it is large. */
struct digits {
    char text[32];
};

static struct digits digits(double value, int width, int decimals)
{
    struct digits out;
    while (snprintf(out.text, sizeof out.text, "%.*f", decimals, value) > width && decimals > 0)
        decimals--;
    return out;
}

static double algorithm_bandwidth(const struct report_row *row, enum place place)
{
    double size = (double)operation_size(row->operation, row->transfer);
    return size / row->in[place].slowest * 1e-9;
}

static double bus_bandwidth(const struct report_row *row, enum place place)
{
    return algorithm_bandwidth(row, place) * row->operation->factor(row->transfer->data.ranks);
}

static const char *op_name(const struct report_row *row)
{
    return row->operation->reduces ? bandwidth_op_name((int)row->transfer->data.op) : "none";
}

static int root_or_none(const struct report_row *row)
{
    return row->operation->rooted ? row->transfer->root : -1;
}

static bool is_checked(const struct report *report, const struct report_row *row)
{
    return report->options->check && row->operation->moves;
}

/* ---- nccl-tests ---- */

static void nccl_begin(const struct report *report, int hosts, const struct rank_place *places)
{
    const struct bandwidth_options *options = report->options;
    bool by_factor = options->step_size == 0;
    printf("# hvd-bandwidth %s: %d rank%s on %d host%s\n", hvd_version(), report->ranks,
           report->ranks == 1 ? "" : "s", hosts, hosts == 1 ? "" : "s");
    printf("# minBytes %ld maxBytes %ld step: %ld(%s) warmup iters: %ld iters: ", options->min_size,
           options->max_size, by_factor ? options->step_factor : options->step_size,
           by_factor ? "factor" : "bytes", options->warm_up);
    if (options->iterations > 0)
        printf("%ld", options->iterations);
    else
        printf("as many as take %g s, %d to %d", MEASURE_SECONDS, MEASURE_ITERATIONS_MIN,
               MEASURE_ITERATIONS_MAX);
    printf(" validation: %ld\n#\n# Using ranks\n", options->check);
    for (int rank = 0; rank < report->ranks; rank++) {
        const struct rank_place *place = &places[rank];
        printf("#  Rank %2d Pid %6" PRId64 " on %10s", rank, place->pid, place->host);
        if (place->ordinal >= 0)
            printf(" device %2d %s", place->ordinal, place->gpu);
        printf("\n");
    }
    if (report->ranks == 1)
        printf("#\n# One rank: nothing travels, times are those of calls and copies.\n");
}

/* One layout for all types and ops. */
static void nccl_section(const struct report *report, const struct operation *operation,
                         const struct data *data)
{
    (void)data;
    if (operation == report->operation)
        return;
    printf("#\n# %s", operation->name);
    if (operation->moves)
        printf(": busbw = algbw x %s", operation->busbw);
    printf("\n# %67s  %32s\n", "out-of-place", "in-place");
    for (int line = 0; line < 2; line++) {
        printf("# %10s  %12s  %8s  %6s  %6s", line ? "(B)" : "size", line ? "(elements)" : "count",
               line ? "" : "type", line ? "" : "redop", line ? "" : "root");
        for (int place = 0; place < PLACES; place++)
            printf("  %8s  %6s  %6s%s", line ? "(us)" : "time", line ? "(GB/s)" : "algbw",
                   line ? "(GB/s)" : "busbw",
                   !line        ? "  #wrong"
                   : place == 0 ? "        "
                                : "");
        printf("\n");
    }
}

static void nccl_measurement(const struct report *report, const struct report_row *row,
                             enum place place)
{
    const struct measurement *measurement = &row->in[place];
    if (!measurement->taken) {
        printf("  %8s  %6s  %6s  %6s", "N/A", "N/A", "N/A", "N/A");
        return;
    }
    printf("  %8s  %6s  %6s", digits(measurement->slowest * 1e6, 8, 2).text,
           digits(algorithm_bandwidth(row, place), 6, 3).text,
           digits(bus_bandwidth(row, place), 6, 3).text);
    if (is_checked(report, row))
        printf("  %6" PRId64, measurement->wrong);
    else
        printf("  %6s", "N/A");
}

static void nccl_row(const struct report *report, const struct report_row *row)
{
    const struct transfer *transfer = row->transfer;
    printf("%12zu  %12zu  %8s  %6s  %6d", operation_size(row->operation, transfer), transfer->count,
           row->operation->moves ? bandwidth_type_name((int)transfer->data.dtype) : "none",
           op_name(row), root_or_none(row));
    for (int place = 0; place < PLACES; place++)
        nccl_measurement(report, row, (enum place)place);
    printf("\n");
}

static double average_busbw(const struct report *report)
{
    return report->busbw_count ? report->busbw_sum / report->busbw_count : 0;
}

static void nccl_end(const struct report *report)
{
    if (report->options->check)
        printf("# %-20s : %" PRId64 " %s\n", "Out of bounds values", report->wrong,
               report->wrong ? "FAILED" : "OK");
    printf("# %-20s : %g\n#\n", "Avg bus bandwidth", average_busbw(report));
}

/* ---- OSU ---- */

static void osu_section(const struct report *report, const struct operation *operation,
                        const struct data *data)
{
    printf("# hvd-bandwidth %s Latency Test, %d rank%s\n", operation->name, report->ranks,
           report->ranks == 1 ? "" : "s");
    if (operation->moves)
        printf("# Datatype: %s%s%s\n", bandwidth_type_name((int)data->dtype),
               operation->reduces ? ", op: " : "",
               operation->reduces ? bandwidth_op_name((int)data->op) : "");
    printf("%-10s%18s%18s%18s%12s%10s\n", "# Size", "Avg Latency(us)", "Min Latency(us)",
           "Max Latency(us)", "Iterations", "#wrong");
}

static void osu_row(const struct report *report, const struct report_row *row)
{
    const struct measurement *measurement =
        &row->in[row->in[OUT_OF_PLACE].taken ? OUT_OF_PLACE : IN_PLACE];
    printf("%-10zu%18.2f%18.2f%18.2f%12ld", operation_size(row->operation, row->transfer),
           measurement->mean * 1e6, measurement->fastest * 1e6, measurement->slowest * 1e6,
           measurement->iterations);
    if (is_checked(report, row))
        printf("%10" PRId64 "\n", measurement->wrong);
    else
        printf("%10s\n", "N/A");
}

/* ---- tabs ---- */

static void tsv_begin(const struct report *report, int hosts, const struct rank_place *places)
{
    (void)report, (void)hosts, (void)places;
    printf("operation\tplace\tsize\tcount\ttype\tredop\troot\titers\tavg_us\tmin_us\tmax_us\t"
           "algbw\tbusbw\twrong\n");
}

static void tsv_row(const struct report *report, const struct report_row *row)
{
    for (int i = 0; i < PLACES; i++) {
        const struct measurement *measurement = &row->in[i];
        if (!measurement->taken)
            continue;
        printf("%s\t%s\t%zu\t%zu\t%s\t%s\t%d\t%ld\t%.3f\t%.3f\t%.3f\t%.6g\t%.6g\t",
               row->operation->name, i == IN_PLACE ? "in-place" : "out-of-place",
               operation_size(row->operation, row->transfer), row->transfer->count,
               row->operation->moves ? bandwidth_type_name((int)row->transfer->data.dtype) : "none",
               op_name(row), root_or_none(row), measurement->iterations, measurement->mean * 1e6,
               measurement->fastest * 1e6, measurement->slowest * 1e6,
               algorithm_bandwidth(row, (enum place)i), bus_bandwidth(row, (enum place)i));
        if (is_checked(report, row))
            printf("%" PRId64 "\n", measurement->wrong);
        else
            printf("N/A\n");
    }
}

static const struct report_layout nccl = { nccl_begin, nccl_section, nccl_row, nccl_end };
static const struct report_layout osu = { .section = osu_section, .row = osu_row };
static const struct report_layout tsv = { .begin = tsv_begin, .row = tsv_row };
static const struct report_layout none = { 0 };

void report_begin(struct report *report, const struct bandwidth_options *options, int ranks,
                  int hosts, const struct rank_place *places)
{
    const struct report_layout *chosen = options->latency ? &osu : options->tsv ? &tsv : &nccl;
    *report = (struct report){
        .options = options,
        .ranks = ranks,
        .layout = options->quiet || !program_prints() ? &none : chosen,
    };
    if (report->layout->begin)
        report->layout->begin(report, hosts, places);
}

void report_section(struct report *report, const struct operation *operation,
                    const struct data *data)
{
    if (report->layout->section)
        report->layout->section(report, operation, data);
    report->operation = operation;
}

void report_row(struct report *report, const struct report_row *row)
{
    for (int place = 0; place < PLACES; place++) {
        if (!row->in[place].taken)
            continue;
        if (report->latency == 0)
            report->latency = row->in[place].slowest;
        report->wrong += row->in[place].wrong;
        if (row->operation->moves) {
            report->busbw_sum += bus_bandwidth(row, (enum place)place);
            report->busbw_count++;
        }
    }
    if (report->layout->row)
        report->layout->row(report, row);
    fflush(stdout);
}

void report_end(struct report *report)
{
    struct result result;
    if (report->layout->end)
        report->layout->end(report);
    result_begin(&result);
    result_integer(&result, "ranks", report->ranks);
    result_text(&result, "operation", report->options->operation_list);
    result_real(&result, "busbw", "%.6g", average_busbw(report));
    result_real(&result, "latency_us", "%.2f", report->latency * 1e6);
    result_integer(&result, "wrong", report->wrong);
    result_print(&result);
}
