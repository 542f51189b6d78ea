/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a stream; see last_lines.h. */
#include "launcher/output/last_lines.h"

#include "launcher/base/text_buffer.h"
#include "launcher/base/xalloc.h"
#include "launcher/output/last_line.h"

#include <stdlib.h>
#include <string.h>

static size_t most_kept(const struct last_lines *lines)
{
    return lines->most ? lines->most : LAST_LINES_KEPT;
}

void last_lines_feed(struct last_lines *lines, const char *data, size_t length)
{
    size_t most = most_kept(lines);
    if (length == 0)
        return;
    if (!lines->bytes)
        lines->bytes = xmalloc(most);
    if (length > most) {
        data += length - most;
        length = most;
        lines->cut = true;
    }
    size_t room = most - length;
    if (lines->length > room) {
        memmove(lines->bytes, lines->bytes + lines->length - room, room);
        lines->length = room;
        lines->cut = true;
    }
    memcpy(lines->bytes + lines->length, data, length);
    lines->length += length;
}

static bool ends_line(char byte)
{
    return byte == '\n' || byte == '\r';
}

/* The beginning of the line before `end`. */
static size_t begin_of(const struct last_lines *lines, size_t end)
{
    while (end > 0 && !ends_line(lines->bytes[end - 1]))
        end--;
    return end;
}

static void last_lines_put_line(struct text_buffer *text, const char *line, size_t length, bool cut)
{
    struct last_line words = { 0 };
    last_line_feed(&words, line, length);
    const char *said = last_line_whole(&words);
    if (*said)
        text_buffer_printf(text, "%s%s\n", cut ? "..." : "", said);
}

static bool last_lines_is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] > ' ')
            return false;
    return true;
}

/* Goes back over at most `count` lines and returns the beginning of the first. */
static size_t find_first(const struct last_lines *lines, int count)
{
    size_t begin = lines->length;
    for (int found = 0; begin > 0 && found < count;) {
        size_t end = begin;
        begin = begin_of(lines, end);
        found += !last_lines_is_blank(lines->bytes + begin, end - begin);
        if (begin > 0 && found < count)
            begin--; /* skip the newline of the line before */
    }
    return begin;
}

static char *make_text(const struct last_lines *lines, int count)
{
    struct text_buffer text = { 0 };
    for (size_t at = find_first(lines, count); at < lines->length;) {
        size_t end = at;
        while (end < lines->length && !ends_line(lines->bytes[end]))
            end++;
        last_lines_put_line(&text, lines->bytes + at, end - at, lines->cut && at == 0);
        at = end + 1;
    }
    return text_buffer_take(&text);
}

char *last_lines_text(const struct last_lines *lines)
{
    return make_text(lines, LAST_LINES_MAX);
}

char *last_lines_tail(const struct last_lines *lines, int count, size_t nbytes)
{
    char *text = make_text(lines, count), *from = text;
    size_t length = strlen(text);
    while (length > nbytes) {
        size_t line = strcspn(from, "\n") + 1;
        if (line == length) { /* the last line */
            memcpy(from + nbytes - 4, "...\n", 5);
            length = nbytes;
        } else {
            from += line;
            length -= line;
        }
    }
    memmove(text, from, length + 1);
    return text;
}

void last_lines_fini(struct last_lines *lines)
{
    free(lines->bytes);
    *lines = (struct last_lines){ 0 };
}
