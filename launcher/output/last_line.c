/* SPDX-License-Identifier: Apache-2.0 */
/* The last line of a stream; see last_line.h. */
#include "launcher/output/last_line.h"

#include "lib/base/text.h"

#include <string.h>

/* Ends the line behind `most` bytes; "..." replaces the last characters. */
static void mark_cut(char *line, size_t most)
{
    static const char mark[] = "...";
    size_t at = most + 1 - sizeof mark;
    while (at > 0 && ((unsigned char)line[at] & 0xc0) == 0x80) /* do not cut inside a character */
        at--;
    memcpy(line + at, mark, sizeof mark);
}

/* Keeps the current line, if it is not empty, and begins the next. */
static void last_line_end_line(struct last_line *words)
{
    words->current[words->length] = '\0';
    text_make_line(words->current);
    if (words->cut)
        mark_cut(words->current, LAST_LINE_WHOLE);
    if (words->length > strspn(words->current, " "))
        memcpy(words->last, words->current, words->length + 1);
    words->length = 0;
    words->in_escape = words->cut = false;
}

static void last_line_take(struct last_line *words, unsigned char byte)
{
    if (byte == '\n' || byte == '\r') {
        last_line_end_line(words);
    } else if (byte == 0x1b) {
        words->in_escape = true;
    } else if (words->in_escape) { /* skip up to the letter that ends the sequence */
        words->in_escape = !((byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z'));
    } else if (words->length < LAST_LINE_WHOLE) {
        words->current[words->length++] = byte < 0x20 || byte == 0x7f ? ' ' : (char)byte;
    } else {
        words->cut = words->cut || byte > ' ';
    }
}

/* Only the end of a chunk can matter, so bytes more than a few lines before the end are skipped. */
void last_line_feed(struct last_line *words, const char *data, size_t length)
{
    enum { TAIL = 16 * 1024 };
    if (length > TAIL) {
        last_line_end_line(words);
        data += length - TAIL;
        length = TAIL;
    }
    for (size_t i = 0; i < length; i++)
        last_line_take(words, (unsigned char)data[i]);
}

const char *last_line_whole(struct last_line *words)
{
    last_line_end_line(words);
    return words->last;
}

const char *last_line_text(struct last_line *words)
{
    const char *line = last_line_whole(words);
    size_t length = strlen(line), kept = length < LAST_LINE_MAX ? length : LAST_LINE_MAX;
    memcpy(words->quoted, line, kept);
    words->quoted[kept] = '\0';
    if (strspn(line + kept, " ") < length - kept)
        mark_cut(words->quoted, LAST_LINE_MAX);
    return words->quoted;
}
