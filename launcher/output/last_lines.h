/* SPDX-License-Identifier: Apache-2.0 */
/* The last lines of a stream, for a report and the status page. The end of the stream is kept as
 * raw bytes, which costs no more than a copy, and is split into lines only on request. Pure. */
#ifndef LAUNCHER_OUTPUT_LAST_LINES_H
#define LAUNCHER_OUTPUT_LAST_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a stream that are kept, unless `most` is less; the most lines that are reported, each in
 * the form of last_line_whole(). */
enum { LAST_LINES_KEPT = 8192, LAST_LINES_MAX = 10 };

/* All zero at the beginning; memory is allocated with the first byte. */
struct last_lines {
    char *bytes; /* owned; the first `length` of LAST_LINES_KEPT */
    size_t length;
    size_t most; /* the most bytes to keep; 0: LAST_LINES_KEPT, which is also the maximum */
    bool cut;    /* bytes before them were dropped */
};

void last_lines_feed(struct last_lines *lines, const char *data, size_t length);

/* The lines that are not empty, each ended by a newline; "" if there are none. If the first line
 * has lost its beginning, it begins with "...". The caller frees the text. */
char *last_lines_text(const struct last_lines *lines);

/* The last `count` of these lines at most, in at most `nbytes` bytes, which is more than 3: lines
 * in front are left out, and the end of the last line if it is longer. */
char *last_lines_tail(const struct last_lines *lines, int count, size_t nbytes);

void last_lines_fini(struct last_lines *lines);

#endif
