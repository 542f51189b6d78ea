/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of JSON; see json_text.h. cJSON decides whether they form one complete value. */
#include "rendezvous/base/json_text.h"

#include <string.h>

bool json_text_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static bool json_text_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* The characters of numbers. */
static bool is_of_number(char byte)
{
    return json_text_is_digit(byte) || (byte && strchr("+-.eE", byte));
}

/* Takes digits off the front of a text that ends at `end`; false if there are none. */
static bool take_digits(const char **at, const char *end)
{
    const char *first = *at;
    while (*at < end && json_text_is_digit(**at))
        ++*at;
    return *at > first;
}

/* Takes one of the characters off. */
static bool take_one(const char **at, const char *end, const char *of)
{
    if (*at == end || **at == '\0' || !strchr(of, **at))
        return false;
    ++*at;
    return true;
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)? and then something else. */
static bool take_number(const char **at, const char *end)
{
    take_one(at, end, "-");
    if (!take_one(at, end, "0") && !take_digits(at, end))
        return false;
    if (take_one(at, end, ".") && !take_digits(at, end))
        return false;
    if (take_one(at, end, "eE")) {
        take_one(at, end, "+-");
        if (!take_digits(at, end))
            return false;
    }
    return *at == end || !is_of_number(**at);
}

bool json_text_is_plain(const char *text, size_t length)
{
    const char *end = length > 0 ? text + length : text;
    bool in_string = false;
    for (const char *at = text; at < end;) {
        if (!json_text_is_blank(*at) && (*at < ' ' || *at > '~' || *at == '\\'))
            return false;
        if (!in_string && (json_text_is_digit(*at) || *at == '-')) {
            if (!take_number(&at, end))
                return false;
            continue;
        }
        in_string ^= *at == '"';
        at++;
    }
    return true;
}
