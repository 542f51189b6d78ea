/* SPDX-License-Identifier: Apache-2.0 */
/* A piece of a client's text: bytes without a final zero that belong to another owner. */
#ifndef RENDEZVOUS_HTTP_HTTP_TEXT_H
#define RENDEZVOUS_HTTP_HTTP_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct http_text {
    const char *data;
    size_t length;
};

/* Upper and lower case are the same. */
static inline bool http_text_is(struct http_text text, const char *expected)
{
    return text.length == strlen(expected) && strncasecmp(text.data, expected, text.length) == 0;
}

static inline bool http_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Removes the first `length` bytes. */
static inline void http_text_skip(struct http_text *text, size_t length)
{
    text->data += length;
    text->length -= length;
}

static inline void http_text_skip_blanks(struct http_text *text)
{
    while (text->length > 0 && http_is_blank(text->data[0]))
        http_text_skip(text, 1);
}

static inline void http_text_drop_blanks_at_end(struct http_text *text)
{
    while (text->length > 0 && http_is_blank(text->data[text->length - 1]))
        text->length--;
}

/* Removes the bytes up to and including `c`, and returns the bytes before it in `before`.
 * Returns false, and removes nothing, if there is no `c`. */
static inline bool http_text_take_until(struct http_text *text, char c, struct http_text *before)
{
    const char *end = memchr(text->data, c, text->length);
    if (!end)
        return false;
    *before = (struct http_text){ text->data, (size_t)(end - text->data) };
    http_text_skip(text, before->length + 1);
    return true;
}

#endif
