/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON by recursive descent; see json.h. */
#include "tests/support/json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

struct json {
    const char *at, *end;
    int depth;
};

static bool value(struct json *json);

static int peek(const struct json *json)
{
    return json->at < json->end ? (unsigned char)*json->at : -1;
}

static void blanks(struct json *json)
{
    while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at)
        json->at++;
}

static bool eat(struct json *json, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(json->end - json->at) < length || memcmp(json->at, word, length) != 0)
        return false;
    json->at += length;
    return true;
}

static bool digits(struct json *json)
{
    const char *start = json->at;
    while (isdigit(peek(json)))
        json->at++;
    return json->at > start;
}

static bool number(struct json *json)
{
    eat(json, "-");
    if (!eat(json, "0") && !digits(json))
        return false;
    if (eat(json, ".") && !digits(json))
        return false;
    if (!eat(json, "e") && !eat(json, "E"))
        return true;
    if (!eat(json, "+"))
        eat(json, "-");
    return digits(json);
}

/* One character of UTF-8, by its value: no overlong form, no surrogate, not beyond U+10FFFF. */
static bool utf8(struct json *json)
{
    uint32_t code = (unsigned char)*json->at++;
    int more = code < 0x80       ? 0
               : code >> 5 == 6  ? 1
               : code >> 4 == 14 ? 2
               : code >> 3 == 30 ? 3
                                 : -1;
    if (more < 0)
        return false;
    static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
    code &= more ? 0x3fu >> more : 0x7fu;
    for (int i = 0; i < more; i++, json->at++) {
        if (peek(json) >> 6 != 2)
            return false;
        code = code << 6 | ((uint32_t)peek(json) & 0x3f);
    }
    return code >= least[more] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

static bool escape(struct json *json)
{
    int kind = peek(json);
    json->at++;
    if (kind != 'u')
        return kind > 0 && strchr("\"\\/bfnrt", kind);
    for (int i = 0; i < 4; i++, json->at++)
        if (!isxdigit(peek(json)))
            return false;
    return true;
}

static bool string(struct json *json)
{
    if (!eat(json, "\""))
        return false;
    while (peek(json) >= 0x20) {
        if (eat(json, "\""))
            return true;
        if (!(eat(json, "\\") ? escape(json) : utf8(json)))
            return false;
    }
    return false;
}

static bool member(struct json *json)
{
    blanks(json);
    if (!string(json))
        return false;
    blanks(json);
    return eat(json, ":") && value(json);
}

/* Reads the elements between two brackets; returns -1 if they are malformed. */
static int list(struct json *json, const char *close, bool (*element)(struct json *))
{
    int count = 0;
    blanks(json);
    if (eat(json, close))
        return 0;
    do {
        if (!element(json))
            return -1;
        count++;
        blanks(json);
    } while (eat(json, ","));
    return eat(json, close) ? count : -1;
}

static bool value(struct json *json)
{
    bool good;
    if (++json->depth > DEPTH_MAX)
        return false;
    blanks(json);
    if (peek(json) == '"')
        good = string(json);
    else if (eat(json, "{"))
        good = list(json, "}", member) >= 0;
    else if (eat(json, "["))
        good = list(json, "]", value) >= 0;
    else
        good = eat(json, "true") || eat(json, "false") || eat(json, "null") || number(json);
    json->depth--;
    return good;
}

int json_array_length(const char *text, size_t length)
{
    struct json json = { .at = text, .end = text + length };
    blanks(&json);
    int count = eat(&json, "[") ? list(&json, "]", value) : -1;
    blanks(&json);
    return json.at == json.end ? count : -1;
}
