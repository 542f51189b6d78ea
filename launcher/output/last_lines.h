/* SPDX-License-Identifier: Apache-2.0 */
/* The last lines of a stream, for a report and the status page. The end of the stream is kept as
 * raw bytes, which costs no more than a copy, and is split into lines only on request. Pure. */
#ifndef LAUNCHER_OUTPUT_LAST_LINES_H
#define LAUNCHER_OUTPUT_LAST_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a stream that are kept, unless `most` is less; the most lines that are reported, each in
 * the form of last_words_whole(). */
enum { LAST_LINES_KEPT = 8192, LAST_LINES_MAX = 10 };

/* All zero to begin with; memory is taken with the first byte. */
struct last_lines {
    char *bytes; /* owned; the first `length` of LAST_LINES_KEPT */
    size_t length;
    size_t most; /* how much is kept; 0: LAST_LINES_KEPT, which is also the most there can be */
    bool cut;    /* there was more before them */
};

void last_lines_feed(struct last_lines *lines, const char *data, size_t length);

/* The lines with something in them, each ended by a newline; "" if there are none. The first may
 * have lost its beginning, which "..." stands for. The caller frees it. */
char *last_lines_text(const struct last_lines *lines);

/* The last `count` of them at most, and no more than `nbytes`, which is more than 3: lines in front
 * are left out, and the end of the last one if it is longer than that. */
char *last_lines_tail(const struct last_lines *lines, int count, size_t nbytes);

void last_lines_fini(struct last_lines *lines);

#endif
