/* SPDX-License-Identifier: Apache-2.0 */
/* Text for people; see text.h. */
#include "lib/base/text.h"

#include <stdbool.h>
#include <string.h>

/* The characters that a first byte can begin: their length, and the range of their second bytes.
 * All further bytes are 0x80 to 0xbf. */
static const struct {
    unsigned char first, last; /* of the first byte */
    unsigned char low, high;   /* of the second */
    unsigned char length;
} forms[] = {
    { 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
    { 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
    { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static bool is_form(size_t form, const unsigned char *at, size_t length)
{
    if (at[0] < forms[form].first || at[0] > forms[form].last || length < forms[form].length)
        return false;
    if (forms[form].length > 1 && (at[1] < forms[form].low || at[1] > forms[form].high))
        return false;
    for (size_t i = 2; i < forms[form].length; i++)
        if (at[i] < 0x80 || at[i] > 0xbf)
            return false;
    return true;
}

size_t text_utf8_length(const char *at, size_t length)
{
    for (size_t form = 0; length > 0 && form < sizeof forms / sizeof *forms; form++)
        if (is_form(form, (const unsigned char *)at, length))
            return forms[form].length;
    return 0;
}

void text_make_ascii(char *text)
{
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
}

/* U+0000 to U+001F, U+007F to U+009F */
static bool is_control(const unsigned char *at, size_t length)
{
    return (length == 1 && (at[0] < ' ' || at[0] == 0x7f)) ||
           (length == 2 && at[0] == 0xc2 && at[1] < 0xa0);
}

static void make_printable(char *text, char kept)
{
    size_t left = strlen(text), length;
    for (; left > 0; text += length, left -= length) {
        length = text_utf8_length(text, left);
        bool good = length > 0 && !is_control((const unsigned char *)text, length);
        if (length == 0)
            length = 1;
        if (!good && *text != kept)
            memset(text, '?', length);
    }
}

void text_make_line(char *text)
{
    make_printable(text, '?');
}

void text_make_lines(char *text)
{
    make_printable(text, '\n');
}
