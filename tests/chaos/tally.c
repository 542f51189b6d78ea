/* SPDX-License-Identifier: Apache-2.0 */
/* Counting and printing; see tally.h. */
#include "tests/chaos/tally.h"

#include <stdlib.h>

void tally_init(struct tally *tally)
{
    *tally = (struct tally){ .rows = calloc((size_t)fault_count, sizeof *tally->rows) };
    if (!tally->rows)
        abort();
}

void tally_fini(struct tally *tally)
{
    for (int i = 0; i < fault_count; i++)
        free(tally->rows[i].times_ms);
    free(tally->rows);
}

static void add_time(struct tally_row *row, double ms)
{
    double *longer = realloc(row->times_ms, ((size_t)row->ntimes + 1) * sizeof *longer);
    if (!longer)
        abort();
    row->times_ms = longer;
    row->times_ms[row->ntimes++] = ms;
}

void tally_add(struct tally *tally, const struct trial *trial)
{
    struct tally_row *row = &tally->rows[trial->plan.fault - faults];
    bool hosts = trial->setting->testbed.nhosts > 0;
    tally->trials++;
    row->trials++;
    row->hit += trial->outcome.hit;
    row->failed += !trial->good;
    tally->failed += !trial->good;
    row->orphans += trial->outcome.left > 0;
    row->endless += !trial->outcome.ended;
    tally->things += trial->outcome.things;
    if (!trial->outcome.hit || trial->outcome.left > 0 || !trial->outcome.ended)
        return;
    row->late += trial->clean_ms > oracle_bound_ms(&trial->plan, hosts);
    add_time(row, trial->clean_ms);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which that share lies; `values` are in order. */
static double percentile(const double *values, int count, double share)
{
    return values[(int)((count - 1) * share + 0.5)];
}

static void print_row(struct tally_row *row, const char *name)
{
    printf("%-21s %6d %6d %6d %7d %7d %5d", name, row->trials, row->hit, row->failed, row->orphans,
           row->endless, row->late);
    if (row->ntimes > 0) {
        qsort(row->times_ms, (size_t)row->ntimes, sizeof *row->times_ms, by_size);
        printf(" %8.0f %8.0f %8.0f", percentile(row->times_ms, row->ntimes, 0.5),
               percentile(row->times_ms, row->ntimes, 0.99), row->times_ms[row->ntimes - 1]);
    }
    puts("");
}

void tally_print(struct tally *tally, const struct launcher *launcher, bool hosts)
{
    printf("\n%s, %s; milliseconds from the fault until nothing is left\n", launcher->name,
           hosts ? "several hosts" : "one machine");
    printf("%-21s %6s %6s %6s %7s %7s %5s %8s %8s %8s\n", "fault", "trials", "hit", "failed",
           "orphans", "endless", "late", "p50", "p99", "max");
    for (int i = 0; i < fault_count; i++)
        if (tally->rows[i].trials > 0)
            print_row(&tally->rows[i], faults[i].name);
    printf("%d trials, %d failed, %d things left\n", tally->trials, tally->failed, tally->things);
}
