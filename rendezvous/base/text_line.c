/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that fit; see text_line.h. */
#include "rendezvous/base/text_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void text_line_add(struct text_line *line, const char *format, ...)
{
    size_t room = sizeof line->text - line->length;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line->text + line->length, room, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= room)
        line->full = true;
    else
        line->length += (size_t)length;
}

void text_line_add_others(struct text_line *line, int others)
{
    if (others > 0)
        text_line_add(line, " and %d other%s", others, others == 1 ? "" : "s");
}

void text_line_add_time(struct text_line *line, uint64_t ms)
{
    if (ms % 1000 == 0)
        text_line_add(line, "%" PRIu64 " s", ms / 1000);
    else
        text_line_add(line, "%" PRIu64 " ms", ms);
}

/* Once a rank was left out, all later ranks are, too. */
void rank_runs_add(struct rank_runs *runs, int rank, bool joins)
{
    runs->ranks++;
    struct rank_run *last = runs->count > 0 ? &runs->shown[runs->count - 1] : NULL;
    if (last && last->end == rank && joins)
        last->end++;
    else if (runs->count < RANK_RUNS_MAX)
        runs->shown[runs->count++] = (struct rank_run){ rank, rank + 1 };
}

void text_line_add_run(struct text_line *line, const struct rank_run *run)
{
    int count = run->end - run->first;
    if (count == 1)
        text_line_add(line, "%d", run->first);
    else
        text_line_add(line, count == 2 ? "%d, %d" : "%d-%d", run->first, run->end - 1);
}
