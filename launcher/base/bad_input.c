/* SPDX-License-Identifier: Apache-2.0 */
/* One short line about bad input; see bad_input.h. */
#include "launcher/base/bad_input.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN_BYTES = 64, ELLIPSIS = 3 };

/* The columns of a byte in the output of quote_token(): 1, or 4 for \xNN. */
static size_t columns_of(char byte)
{
    return byte >= 0x20 && byte < 0x7f ? 1 : 4;
}

/* The number of bytes from the start that fit. */
static size_t fitting_start(const char *text, size_t length, size_t columns)
{
    size_t used = 0, n = 0;
    while (n < length && n < TOKEN_BYTES && (used += columns_of(text[n])) <= columns)
        n++;
    return n;
}

/* The number of bytes before the end that fit. */
static size_t fitting_end(const char *text, size_t length, size_t columns)
{
    size_t used = 0, n = 0;
    while (n < length && n < TOKEN_BYTES && (used += columns_of(text[length - 1 - n])) <= columns)
        n++;
    return n;
}

const char *show_token(struct shown *shown, const char *text, size_t length)
{
    char quoted[QUOTED_SIZE];
    size_t n = fitting_start(text, length, SHOWN_COLUMNS - ELLIPSIS);
    quote_token(quoted, sizeof quoted, text, n);
    snprintf(shown->text, sizeof shown->text, "%.*s%s", SHOWN_COLUMNS, quoted,
             n < length ? "..." : "");
    return shown->text;
}

const char *show_source(struct shown *shown, const char *source)
{
    char quoted[QUOTED_SIZE];
    size_t length = strlen(source);
    size_t n = fitting_end(source, length, SHOWN_COLUMNS - ELLIPSIS);
    quote_token(quoted, sizeof quoted, source + length - n, n);
    snprintf(shown->text, sizeof shown->text, "%s%.*s", n < length ? "..." : "", SHOWN_COLUMNS,
             quoted);
    return shown->text;
}

int bad_input(struct err *err, const char *source, const char *format, ...)
{
    char text[sizeof err->text];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct shown shown;
    char line[sizeof err->text];
    int length = snprintf(line, sizeof line, "%s%s%.*s", source ? show_source(&shown, source) : "",
                          source ? ": " : "", BAD_INPUT_MAX, text);
    const char *cut = length > BAD_INPUT_MAX ? "..." : "";
    return fail(err, HVD_ERR_INVALID, "%.*s%s", BAD_INPUT_MAX - (*cut ? ELLIPSIS : 0), line, cut);
}
