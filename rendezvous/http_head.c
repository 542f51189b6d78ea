/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting out request heads; see http_head.h. */
#include "rendezvous/http_head.h"

#include <string.h>

/* A token of RFC 9110: methods and header names. */
static bool is_token(const char *text, size_t length)
{
    static const bool allowed[256] = {
        ['0' ... '9'] = true,  ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,
        ['#' ... '\''] = true, ['*'] = true,         ['+'] = true,         ['-'] = true,
        ['.'] = true,          ['^' ... '`'] = true, ['|'] = true,         ['~'] = true,
    };
    for (size_t i = 0; i < length; i++)
        if (!allowed[(unsigned char)text[i]])
            return false;
    return length > 0;
}

static bool is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

/* 0 if it can go on, 505 for a version that we do not speak. */
static int check_version(const char *text, size_t length)
{
    if (length != strlen("HTTP/1.1") || memcmp(text, "HTTP/", 5) != 0 || !is_digit(text[5]) ||
        text[6] != '.' || !is_digit(text[7]))
        return 400;
    return text[5] == '1' && (text[7] == '0' || text[7] == '1') ? 0 : 505;
}

static int check_request_line(const char *line, size_t length)
{
    const char *end = line + length;
    const char *after_method = memchr(line, ' ', length);
    if (!after_method || !is_token(line, (size_t)(after_method - line)))
        return 400;
    const char *target = after_method + 1;
    const char *after_target = memchr(target, ' ', (size_t)(end - target));
    if (!after_target || after_target == target)
        return 400;
    const char *version = after_target + 1;
    return check_version(version, (size_t)(end - version));
}

static int check_header_line(const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);
    return colon && is_token(line, (size_t)(colon - line)) ? 0 : 400;
}

static bool in_request_line(const struct http_head *head)
{
    return head->headers == 0;
}

static const char *line_text(const struct http_head *head)
{
    return (const char *)head->text.data + head->line;
}

static size_t line_length(const struct http_head *head)
{
    return head->text.length - head->line;
}

static int check_line(struct http_head *head)
{
    if (in_request_line(head))
        return check_request_line(line_text(head), line_length(head));
    if (++head->count > HTTP_HEADERS_MAX)
        return 431;
    return check_header_line(line_text(head), line_length(head));
}

/* A line has ended; `whole` is for the caller. */
static int end_line(struct http_head *head)
{
    bool empty = line_length(head) == 0;
    if (empty && in_request_line(head))
        return 400;
    int refused = empty ? 0 : check_line(head);
    if (refused)
        return refused;
    wire_put_bytes(&head->text, "\r\n", 2);
    head->line = head->text.length;
    if (in_request_line(head))
        head->headers = head->line;
    head->after_cr = false;
    return empty ? HTTP_HEAD_WHOLE : HTTP_HEAD_MORE;
}

/* Bytes that the present line may still have. */
static size_t room(const struct http_head *head)
{
    size_t length = line_length(head);
    if (in_request_line(head))
        return HTTP_REQUEST_LINE_MAX - length;
    size_t all = head->text.length - head->headers + 2;
    size_t line = HTTP_HEADER_MAX - length;
    size_t together = all < HTTP_HEADERS_SIZE_MAX ? HTTP_HEADERS_SIZE_MAX - all : 0;
    return line < together ? line : together;
}

static int no_room(const struct http_head *head)
{
    if (!in_request_line(head))
        return 431;
    return memchr(line_text(head), ' ', line_length(head)) ? 414 : 501;
}

static bool is_text(unsigned char byte)
{
    return (byte >= ' ' && byte < 0x7f) || byte == '\t';
}

/* As much of the line as is here and has room. */
static size_t take_text(struct http_head *head, const char *data, size_t length)
{
    size_t most = room(head), used = 0;
    if (most < length)
        length = most;
    while (used < length && is_text((unsigned char)data[used]))
        used++;
    wire_put_bytes(&head->text, data, used);
    return used;
}

/* What take_text() has left: the end of a line, or what must not be. */
static int take_byte(struct http_head *head, unsigned char byte)
{
    if (head->after_cr != (byte == '\n'))
        return 400;
    if (byte == '\n')
        return end_line(head);
    if (byte == '\r') {
        head->after_cr = true;
        return HTTP_HEAD_MORE;
    }
    return is_text(byte) ? no_room(head) : 400;
}

int http_head_take(struct http_head *head, const char *data, size_t length, size_t *used)
{
    int rc = HTTP_HEAD_MORE;
    *used = 0;
    head->text.secret = true; /* a key may be in it */
    while (*used < length && rc == HTTP_HEAD_MORE && !head->text.failed) {
        if (!head->after_cr)
            *used += take_text(head, data + *used, length - *used);
        if (*used < length)
            rc = take_byte(head, (unsigned char)data[(*used)++]);
    }
    return head->text.failed ? 500 : rc;
}

bool http_head_empty(const struct http_head *head)
{
    return head->text.length == 0;
}

void http_head_reset(struct http_head *head)
{
    wire_writer_fini(&head->text);
    *head = (struct http_head){ 0 };
}
