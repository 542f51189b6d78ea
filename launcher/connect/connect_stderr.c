/* SPDX-License-Identifier: Apache-2.0 */
/* The stderr of a host; see connect_stderr.h. */
#include "launcher/connect/connect_stderr.h"

#include <string.h>

/* Keeps the current line, if it is not empty, and begins the next. Returns false if the line is
 * empty. */
static bool connect_stderr_end_line(struct connect_stderr *self)
{
    const char *text = last_line_text(&self->line);
    if (!*text)
        return false;
    memcpy(self->last, text, strlen(text) + 1);
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
            on_line(context, self->last);
        piece += end != NULL;
        data += piece;
        length -= piece;
    }
}

const char *connect_stderr_last(struct connect_stderr *self)
{
    connect_stderr_end_line(self);
    return self->last;
}
