/* SPDX-License-Identifier: Apache-2.0 */
/* The last line of a stream that is not empty, in UTF-8 without control characters and terminal
 * sequences: fit to be quoted in a message, at most LAST_LINE_MAX bytes, or as whole as it is
 * kept, LAST_LINE_WHOLE. A longer line is cut, with "..." behind its beginning. Pure. */
#ifndef LAUNCHER_OUTPUT_LAST_LINE_H
#define LAUNCHER_OUTPUT_LAST_LINE_H

#include <stdbool.h>
#include <stddef.h>

enum { LAST_LINE_MAX = 200, LAST_LINE_WHOLE = 1024 };

/* All zero at the beginning. */
struct last_line {
    char current[LAST_LINE_WHOLE + 1]; /* the line that is being read */
    char last[LAST_LINE_WHOLE + 1];    /* the line before */
    char quoted[LAST_LINE_MAX + 1];    /* the result of last_line_text() */
    size_t length;                     /* of `current` */
    bool in_escape;                    /* inside a terminal sequence */
    bool cut;                          /* the end of `current` was dropped */
};

void last_line_feed(struct last_line *words, const char *data, size_t length);

/* Borrowed; "" if there was no such line. last_line_text() is fit to be quoted, last_line_whole()
 * as whole as it is kept. */
const char *last_line_text(struct last_line *words);
const char *last_line_whole(struct last_line *words);

#endif
