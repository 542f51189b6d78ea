/* SPDX-License-Identifier: Apache-2.0 */
/* One line of known_hosts:
 *   find its end, cut what is behind a NUL, take the marker, the names, the type and the key.
 * A line is ignored when it is empty or a comment, its marker is unknown or one of two, or a field
 * is missing. Names and key are parsed when they are needed. */
#include "launcher/ssh/known_hosts_line.h"

#include <string.h>

static const struct {
    const char *text;
    enum known_marker marker;
} markers[] = { { "@revoked", MARKER_REVOKED }, { "@cert-authority", MARKER_CA } };

/* Up to the end of the line or a NUL, behind which OpenSSH reads nothing either. */
static struct slice take_line(struct slice *rest)
{
    const char *end = memchr(rest->at, '\n', rest->length);
    struct slice line = slice_between(rest->at, end ? end : slice_end(*rest));
    *rest = slice_between(end ? end + 1 : slice_end(*rest), slice_end(*rest));
    line.length = strnlen(line.at, line.length);
    if (line.length > 0 && slice_end(line)[-1] == '\r')
        line.length--;
    return slice_trim(line);
}

static struct slice take_word(struct slice *rest)
{
    size_t length = 0;
    while (length < rest->length && !is_blank(rest->at[length]))
        length++;
    struct slice word = { rest->at, length };
    *rest = slice_trim(slice_between(slice_end(word), slice_end(*rest)));
    return word;
}

static bool read_marker(enum known_marker *marker, struct slice word)
{
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        if (word.length != strlen(markers[i].text) ||
            memcmp(word.at, markers[i].text, word.length) != 0)
            continue;
        *marker = markers[i].marker;
        return true;
    }
    return false;
}

bool known_line_take(struct slice *rest, struct known_line *line)
{
    struct slice left = take_line(rest);
    *line = (struct known_line){ .marker = MARKER_NONE };
    if (left.length == 0 || *left.at == '#')
        return false;
    if (*left.at == '@' && !read_marker(&line->marker, take_word(&left)))
        return false;
    line->names = take_word(&left);
    line->type = take_word(&left);
    line->key = take_word(&left);
    return line->key.length > 0 && *line->names.at != '@';
}
