/* SPDX-License-Identifier: Apache-2.0 */
/* Writing the table of --check-hosts; see host_check_table.h. */
#include "launcher/job/host_check_table.h"

#include "launcher/base/text_buffer.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* The steps that have a column. Steps before `STEP_AGENT` do not happen on this machine. */
static const enum host_step columns[] = {
    STEP_RESOLVE, STEP_CONNECT,   STEP_HOST_KEY, STEP_LOGIN,
    STEP_AGENT,   STEP_DIRECTORY, STEP_COMMAND,  STEP_NETWORK
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static const char *cell(const struct host_check_row *row, enum host_step step, bool with_command)
{
    if ((row->local && step < STEP_AGENT) || (step == STEP_COMMAND && !with_command))
        return "-";
    if (row->ok || step < row->step)
        return "ok";
    return step == row->step ? "FAILED" : "-";
}

static int name_width(const struct host_check_row *rows, int nrows)
{
    size_t width = strlen("host");
    for (int i = 0; i < nrows; i++)
        if (strlen(rows[i].name) > width)
            width = strlen(rows[i].name);
    return (int)width;
}

static void put_facts(struct text_buffer *table, const struct host_check_row *row)
{
    if (!row->ok) {
        text_buffer_printf(table, "%10s %10s %5s  -\n", "-", "-", "-");
        return;
    }
    text_buffer_printf(table, "%7.2f ms %+8.1f s %5u  %s\n", (double)row->round_trip_us / 1000,
                       (double)row->clock_ms / 1000, row->facts.ncpus, row->facts.machine);
}

/* Some texts begin with their subject ("working directory ..."), which is also the name of the
 * step. */
static void put_failure(struct text_buffer *table, const struct host_check_row *row)
{
    if (row->ok)
        return;
    text_buffer_printf(table, "%s: ", row->name);
    if (row->step != STEP_DIRECTORY && row->step != STEP_COMMAND)
        text_buffer_printf(table, "%s: ", host_step_name(row->step));
    text_buffer_printf(table, "%s\n", row->text);
}

static bool same_cuda(const struct host_check_row *a, const struct host_check_row *b)
{
    return a->ok && b->ok && strcmp(a->facts.cuda, b->facts.cuda) == 0;
}

/* Has a row above this one named it? */
static bool cuda_is_told(const struct host_check_row *rows, int row)
{
    for (int i = 0; i < row; i++)
        if (same_cuda(&rows[i], &rows[row]))
            return true;
    return false;
}

static void put_cuda(struct text_buffer *table, const struct host_check_row *rows, int nrows)
{
    for (int i = 0; i < nrows; i++) {
        if (!rows[i].ok || !*rows[i].facts.cuda || cuda_is_told(rows, i))
            continue;
        text_buffer_printf(table, "CUDA on %s", rows[i].name);
        for (int other = i + 1; other < nrows; other++)
            if (same_cuda(&rows[i], &rows[other]))
                text_buffer_printf(table, ", %s", rows[other].name);
        text_buffer_printf(table, ": %s\n", rows[i].facts.cuda);
    }
}

char *host_check_table(const struct host_check_row *rows, int nrows, bool with_command)
{
    struct text_buffer table = { 0 };
    int width = name_width(rows, nrows);
    text_buffer_printf(&table, "%-*s", width, "host");
    for (int c = 0; c < COLUMNS; c++)
        text_buffer_printf(&table, "  %-9s", host_step_name(columns[c]));
    text_buffer_printf(&table, "%10s %10s %5s  machine\n", "round trip", "clock", "cores");
    for (int i = 0; i < nrows; i++) {
        text_buffer_printf(&table, "%-*s", width, rows[i].name);
        for (int c = 0; c < COLUMNS; c++)
            text_buffer_printf(&table, "  %-9s", cell(&rows[i], columns[c], with_command));
        put_facts(&table, &rows[i]);
    }
    for (int i = 0; i < nrows; i++)
        put_failure(&table, &rows[i]);
    put_cuda(&table, rows, nrows);
    return text_buffer_take(&table);
}
