/* SPDX-License-Identifier: Apache-2.0 */
/* The stderr of a host, cut into lines that can be shown to people; the last lines are kept. Pure.
 *
 * A line has at most LAST_LINE_MAX bytes, the rest of a longer one is dropped; control characters
 * become blanks; empty lines are left out. */
#ifndef LAUNCHER_CONNECT_CONNECT_STDERR_H
#define LAUNCHER_CONNECT_CONNECT_STDERR_H

#include "launcher/output/last_line.h"

/* The lines that end a message: an ssh behind a proxy that fails says why in the lines before its
 * last one, which is "Connection closed by UNKNOWN port 65535".
 *
 * A line and the indented ones below it are one message, such as the one of ssh that names the file
 * and the line of a known key, and how to remove it.
 *
 * The tail has room for the last line, and fits, behind the words about a host that is lost, into
 * the smallest text that takes it: job_state.h's lost_text. */
enum { CONNECT_STDERR_LINES = 8, CONNECT_STDERR_MESSAGES = 4, CONNECT_STDERR_TAIL_SIZE = 300 };

/* All zero to begin with. */
struct connect_stderr {
    struct last_line line;                              /* the current line */
    char last[CONNECT_STDERR_LINES][LAST_LINE_MAX + 1]; /* the newest first */
};

/* Adds some bytes and calls `on_line` for each line that is complete now. */
void connect_stderr_feed(struct connect_stderr *self, const char *data, size_t length,
                         void (*on_line)(void *context, const char *line), void *context);

/* The last line, complete or not; "" if there is none. Borrowed. */
const char *connect_stderr_last(struct connect_stderr *self);

/* The last messages, complete or not, in their order and with "; " between, without the oldest ones
 * if they have no room; a line that is the same as the one before it counts once. The lines of a
 * message have a blank between. `text` has room for CONNECT_STDERR_TAIL_SIZE. */
void connect_stderr_tail(struct connect_stderr *self, char *text);

#endif
