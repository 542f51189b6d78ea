/* SPDX-License-Identifier: Apache-2.0 */
/* Judging what came of a row; see verdict.h. */
#include "tests/bad/verdict.h"

#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

enum { LINE_MAX_BYTES = 300, QUOTED_MAX_BYTES = 64 + 16 };

/* A token that was not cut is a long word; one with escapes may be longer than what it quotes. */
static bool has_long_word(const char *line)
{
    size_t length = 0;
    for (; *line && length <= QUOTED_MAX_BYTES; line++)
        length = *line == ' ' || *line == '\\' ? 0 : length + 1;
    return length > QUOTED_MAX_BYTES;
}

static bool is_printable(const char *line)
{
    for (; *line && *line != '\n'; line++)
        if (*line < ' ' || *line > '~')
            return false;
    return true;
}

static const char *judge_line(const struct row *row, const char *beginning, const char *line)
{
    const char *end = strchr(line, '\n');
    if (!*line)
        return "nothing on stderr";
    if (!end || end[1])
        return "not exactly one line on stderr";
    if (end - line >= LINE_MAX_BYTES)
        return "more than 300 bytes on stderr";
    if (!is_printable(line))
        return "bytes that cannot be printed";
    if (has_long_word(line))
        return "a token that was not cut";
    if (strncmp(row->text, beginning, strcspn(beginning, " ")) == 0)
        beginning = row->text;
    if (strncmp(line, beginning, strlen(beginning)) != 0)
        return "another beginning";
    return strstr(line, row->text) ? NULL : "another text";
}

const char *verdict(const struct row *row, const char *beginning, const struct outcome *outcome)
{
    if (!WIFEXITED(outcome->wait_status))
        return "ended by a signal";
    if (WEXITSTATUS(outcome->wait_status) != row->status)
        return "another status";
    if (row->status != 0)
        return *outcome->out ? "something on stdout" : judge_line(row, beginning, outcome->err);
    if (*outcome->err)
        return "something on stderr";
    return strstr(outcome->out, row->text) ? NULL : "another text on stdout";
}
