/* SPDX-License-Identifier: Apache-2.0 */
/* A line of text that always fits its message: it grows, and remembers that something did not fit,
 * so that its writer can begin again and name less. And what several of them say: lists of ranks,
 * how many others there are, how long something took. */
#ifndef RENDEZVOUS_BASE_TEXT_LINE_H
#define RENDEZVOUS_BASE_TEXT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names of hosts are cut, "%.*s". */
enum { TEXT_LINE_MAX = 250, HOST_SHOWN_MAX = 80 };

struct text_line {
    char text[TEXT_LINE_MAX + 1];
    size_t length;
    bool full; /* something did not fit */
};

void text_line_add(struct text_line *line, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* " and 5 others"; nothing if there are none. */
void text_line_add_others(struct text_line *line, int others);

/* "30 s", "1500 ms" */
void text_line_add_time(struct text_line *line, uint64_t ms);

/* Ranks [first, end) without a gap. */
struct rank_run {
    int first, end;
};

/* More ranges do not fit in a line. */
enum { RANK_RUNS_MAX = 64 };

/* Zeroed: no ranks. */
struct rank_runs {
    int ranks; /* also those that are not shown */
    int count;
    struct rank_run shown[RANK_RUNS_MAX]; /* the first ones */
};

/* In ascending order. `joins`: may stand in one run with the rank before it, if that is there. */
void rank_runs_add(struct rank_runs *runs, int rank, bool joins);

/* "7", "2, 3", "1-4" */
void text_line_add_run(struct text_line *line, const struct rank_run *run);

#endif
