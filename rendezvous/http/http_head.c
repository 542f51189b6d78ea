/* SPDX-License-Identifier: Apache-2.0 */
/* Cutting out request heads; see http_head.h. */
#include "rendezvous/http/http_head.h"

#include <string.h>

/* A token of RFC 9110: methods and header names. */
static bool is_token(struct http_text text)
{
    static const bool allowed[256] = {
        ['0' ... '9'] = true,  ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,
        ['#' ... '\''] = true, ['*'] = true,         ['+'] = true,         ['-'] = true,
        ['.'] = true,          ['^' ... '`'] = true, ['|'] = true,         ['~'] = true,
    };
    for (size_t i = 0; i < text.length; i++)
        if (!allowed[(unsigned char)text.data[i]])
            return false;
    return text.length > 0;
}

static bool http_head_is_digit(char byte)
{
    return byte >= '0' && byte <= '9';
}

bool http_request_line_split(struct http_text line, struct http_request_line *parts)
{
    if (!http_text_take_until(&line, ' ', &parts->method) || !is_token(parts->method) ||
        !http_text_take_until(&line, ' ', &parts->target) || parts->target.length == 0 ||
        memchr(parts->target.data, '\t', parts->target.length))
        return false;
    static const char name[] = "HTTP/";
    size_t skip = sizeof name - 1;
    if (line.length != skip + 3 || memcmp(line.data, name, skip) != 0)
        return false;
    http_text_skip(&line, skip);
    parts->major = line.data[0] - '0';
    parts->minor = line.data[2] - '0';
    return http_head_is_digit(line.data[0]) && line.data[1] == '.' &&
           http_head_is_digit(line.data[2]);
}

bool http_header_split(struct http_text line, struct http_header *header)
{
    if (!http_text_take_until(&line, ':', &header->name) || !is_token(header->name))
        return false;
    http_text_skip_blanks(&line);
    header->value = line;
    return true;
}

static bool in_request_line(const struct http_head *head)
{
    return head->headers == 0;
}

static struct http_text last_line(const struct http_head *head)
{
    return (struct http_text){ (const char *)head->text.data + head->line,
                               head->text.length - head->line };
}

static int check_line(struct http_head *head)
{
    struct http_request_line parts;
    struct http_header header;
    if (in_request_line(head)) {
        if (!http_request_line_split(last_line(head), &parts))
            return 400;
        return parts.major == 1 && parts.minor <= 1 ? 0 : 505;
    }
    if (++head->count > HTTP_HEADERS_MAX)
        return 431;
    return http_header_split(last_line(head), &header) ? 0 : 400;
}

/* A line has ended; `whole` is for the caller. */
static int http_head_end_line(struct http_head *head)
{
    bool empty = head->text.length == head->line;
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

/* How many more bytes the current line may have. */
static size_t room(const struct http_head *head)
{
    size_t length = head->text.length - head->line;
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
    struct http_text method, line = last_line(head);
    return http_text_take_until(&line, ' ', &method) ? 414 : 501;
}

static bool is_text(unsigned char byte)
{
    return (byte >= ' ' && byte < 0x7f) || byte == '\t';
}

/* Takes the part of the line that has been received and has room. */
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

/* Takes the byte that take_text() has left: the end of a line, or a forbidden character. */
static int take_byte(struct http_head *head, unsigned char byte)
{
    if (head->after_cr != (byte == '\n'))
        return 400;
    if (byte == '\n')
        return http_head_end_line(head);
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

bool http_head_next(const struct http_head *head, size_t *at, struct http_text *line)
{
    struct http_text rest = { (const char *)head->text.data + *at, head->text.length - *at };
    if (!http_text_take_until(&rest, '\r', line) || line->length == 0)
        return false;
    *at += line->length + 2;
    return true;
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
