/* SPDX-License-Identifier: Apache-2.0 */
/* The words for a record of an end; see rank_end_text.h. Each kind has a row, whose words stand
 * around "rank 2 on node1":
 *
 *   before  rank R on HOST  [was] after [number or signal] [: words] */
#include "lib/base/rank_end_text.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum detail { NO_DETAIL, EXIT_STATUS, SIGNAL };

static const struct row {
    const char *before, *after;
    bool is_passive;
    enum detail detail;
} rows[RANK_END_KINDS] = {
    [RANK_END_NONE] = { "", "ended", false, NO_DETAIL },
    [RANK_END_EXITED] = { "", "exited with status", false, EXIT_STATUS },
    [RANK_END_KILLED] = { "", "killed by signal", true, SIGNAL },
    [RANK_END_STOPPED] = { "", "stopped by signal", true, SIGNAL },
    [RANK_END_HOST_LOST] = { "", "lost with its host's agent", true, NO_DETAIL },
    [RANK_END_NOT_STARTED] = { "", "not started", true, NO_DETAIL },
    [RANK_END_NOT_KILLED] = { "", "could not be killed", false, NO_DETAIL },
    [RANK_END_LEFT] = { "", "left (hvd_shutdown or exit)", false, NO_DETAIL },
    [RANK_END_DISCONNECTED] = { "the connection to ", "broke", false, NO_DETAIL },
    [RANK_END_UNREACHABLE] = { "connection to ", "broke", false, NO_DETAIL },
    [RANK_END_FAILED] = { "", "", false, NO_DETAIL },
    [RANK_END_TIMEOUT] = { "", "timed out", false, NO_DETAIL },
    [RANK_END_RENDEZVOUS_LOST] = { "", "the rendezvous is gone", false, NO_DETAIL },
    [RANK_END_BY_REQUEST] = { "", "the job was ended", false, NO_DETAIL },
};

static const struct row *row_of(enum rank_end_kind kind)
{
    return &rows[kind < RANK_END_KINDS ? kind : RANK_END_NONE];
}

/* A line that grows as long as there is room. */
struct line {
    char *text;
    size_t size, used;
};

static void __attribute__((format(printf, 2, 3)))
line_add(struct line *line, const char *format, ...)
{
    va_list args;
    if (line->used >= line->size)
        return;
    va_start(args, format);
    int length = vsnprintf(line->text + line->used, line->size - line->used, format, args);
    va_end(args);
    line->used += length > 0 ? (size_t)length : 0;
}

static void add_signal(struct line *line, const struct rank_end_how *how)
{
    const char *name = sigabbrev_np(how->code);
    line_add(line, " %d (%s%s%s%s)", how->code, name ? "SIG" : "unknown", name ? name : "",
             how->core_dumped ? ", core dumped" : "", how->oom ? "; kernel OOM counter rose" : "");
}

static void add_how(struct line *line, const struct rank_end_how *how, enum rank_end_form form)
{
    const struct row *row = row_of(how->kind);
    line_add(line, "%s%s", row->is_passive && form == RANK_END_PASSIVE ? "was " : "", row->after);
    if (row->detail == EXIT_STATUS)
        line_add(line, " %d", how->code);
    else if (row->detail == SIGNAL)
        add_signal(line, how);
}

/* A clean exit is a loss only because hvd_shutdown() was not called, so the text must say so. */
static void add_missed(struct line *line, const struct rank_end *end)
{
    add_how(line, &end->how, RANK_END_PASSIVE);
    if (end->before_init)
        line_add(line, " before hvd_init");
    else if (rank_end_is_clean_exit(&end->how))
        line_add(line, " without hvd_shutdown");
}

void rank_end_how_text(char *text, size_t size, const struct rank_end_how *how,
                       enum rank_end_form form)
{
    struct line line = { text, size, 0 };
    add_how(&line, how, form);
}

void rank_end_missed_text(char *text, size_t size, const struct rank_end *end)
{
    struct line line = { text, size, 0 };
    add_missed(&line, end);
}

/* For an end of all ranks the words are enough. */
static void add_all(struct line *line, const struct rank_end *end)
{
    if (*end->words)
        line_add(line, "%s", end->words);
    else
        add_missed(line, end);
}

void rank_end_text(char *text, size_t size, const struct rank_end *end)
{
    const struct row *row = row_of(end->how.kind);
    struct line line = { text, size, 0 };
    char label[COLLECTIVE_LABEL];
    if (end->collective)
        line_add(&line, "%s: ",
                 collective_label(label, end->collective, *end->tensor ? end->tensor : NULL));
    if (end->rank < 0) {
        add_all(&line, end);
        return;
    }
    line_add(&line, "%srank %d on %.*s%s", row->before, end->rank, RANK_END_HOST_SHOWN,
             *end->host ? end->host : "?", *row->after ? " " : "");
    add_missed(&line, end);
    if (*end->words)
        line_add(&line, ": %s", end->words);
}

int rank_end_fail(struct err *err, const struct rank_end *end)
{
    char text[sizeof err->text];
    rank_end_text(text, sizeof text, end);
    return fail(err, end->status, "%s", text);
}
