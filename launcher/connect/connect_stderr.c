/* SPDX-License-Identifier: Apache-2.0 */
/* The stderr of a host; see connect_stderr.h. */
#include "launcher/connect/connect_stderr.h"

#include <stdio.h>
#include <string.h>

static void keep_line(struct connect_stderr *self, const char *text)
{
    if (strcmp(text, self->last[0]) == 0)
        return;
    memmove(self->last[1], self->last[0], sizeof self->last - sizeof *self->last);
    snprintf(self->last[0], sizeof *self->last, "%s", text);
}

/* Keeps the current line, if it is not empty, and begins the next. Returns false if the line is
 * empty. */
static bool connect_stderr_end_line(struct connect_stderr *self)
{
    const char *text = last_line_text(&self->line);
    if (!*text)
        return false;
    keep_line(self, text);
    self->line = (struct last_line){ 0 };
    return true;
}

void connect_stderr_feed(struct connect_stderr *self, const char *data, size_t length,
                         void (*on_line)(void *context, const char *line), void *context)
{
    while (length > 0) {
        const char *end = memchr(data, '\n', length);
        size_t piece = end ? (size_t)(end - data) : length;
        last_line_feed(&self->line, data, piece);
        if (end && connect_stderr_end_line(self))
            on_line(context, self->last[0]);
        piece += end != NULL;
        data += piece;
        length -= piece;
    }
}

const char *connect_stderr_last(struct connect_stderr *self)
{
    connect_stderr_end_line(self);
    return self->last[0];
}

/* An indented line belongs to the message of the line before. */
static bool is_indented(const char *line)
{
    return *line == ' ';
}

/* How many of the newest lines have room: whole messages, unless the newest one alone is too
 * long. */
static int lines_that_fit(const struct connect_stderr *self)
{
    size_t used = 0;
    int n = 0, whole = 0, messages = 0;
    while (n < CONNECT_STDERR_LINES && *self->last[n] && messages < CONNECT_STDERR_MESSAGES) {
        used += strlen(self->last[n]) + (n > 0 ? strlen("; ") : 0);
        if (used >= CONNECT_STDERR_TAIL_SIZE)
            break;
        if (is_indented(self->last[n++]))
            continue;
        whole = n;
        messages++;
    }
    return whole > 0 ? whole : n;
}

void connect_stderr_tail(struct connect_stderr *self, char *text)
{
    size_t used = 0;
    connect_stderr_end_line(self);
    text[0] = '\0';
    for (int i = lines_that_fit(self) - 1; i >= 0; i--) {
        const char *line = self->last[i], *between = is_indented(line) ? " " : "; ";
        line += strspn(line, " ");
        used += (size_t)snprintf(text + used, CONNECT_STDERR_TAIL_SIZE - used, "%s%s",
                                 used > 0 ? between : "", line);
    }
}
