/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a rank in the form of horovodrun: every record, up to and with its "\n" or "\r",
 * gets a prefix that names rank and stream.
 *
 *   in    epoch 1\n 10 %\r 20 %\r\n done          (blanks only for the reader)
 *   out   [3]<stdout>:epoch 1\n  [3]<stdout>:10 %\r  [3]<stdout>:20 %\r  [3]<stdout>:\n
 *         at the end of the stream: [3]<stdout>:done
 *
 * A time stamp, if given, stands before the prefix without a blank: "Fri Nov 20 21:03:09
 * 2026[3]...".
 *
 * No record is longer than OUTPUT_RECORD_MAX bytes of text: a longer one comes in pieces, each of
 * exactly that many bytes and marked as unfinished by "\\\n" (a backslash, then the newline), the
 * rest as a record of its own. Apart from that no byte is changed, added or lost, whatever its
 * value. Memory: at most OUTPUT_RECORD_MAX bytes are kept per stream. Uses neither files nor
 * clocks. */
#ifndef LAUNCHER_OUTPUT_OUTPUT_LINES_H
#define LAUNCHER_OUTPUT_OUTPUT_LINES_H

#include "launcher/base/text_buffer.h"

#include <stddef.h>
#include <time.h>

enum { OUTPUT_RECORD_MAX = 1 << 20, OUTPUT_PREFIX_SIZE = 32, OUTPUT_STAMP_SIZE = 32 };

/* One stream of one rank. */
struct output_lines {
    char prefix[OUTPUT_PREFIX_SIZE];
    size_t prefix_length;
    struct text_buffer partial; /* an unfinished record */
};

/* `stream` is "stdout" or "stderr". */
void output_lines_init(struct output_lines *lines, int rank, const char *stream);
void output_lines_fini(struct output_lines *lines);

/* The next records begin with another rank. */
void output_lines_set_rank(struct output_lines *lines, int rank, const char *stream);

/* Adds the stream's next bytes and appends to `out` the records that they complete. `stamp` is NULL
 * or a terminated text, see output_stamp(). `out` grows by at most length x (1 + prefix + stamp)
 * plus the kept bytes, so bound `length`: a chunk of newlines grows fifteenfold. */
void output_lines_feed(struct output_lines *lines, const char *data, size_t length,
                       const char *stamp, struct text_buffer *out);

/* The stream has ended: appends the unfinished record, if there is one, without a terminator. */
void output_lines_end(struct output_lines *lines, const char *stamp, struct text_buffer *out);

/* Local time as asctime() writes it, without its newline. */
void output_stamp(char stamp[OUTPUT_STAMP_SIZE], time_t now);

#endif
