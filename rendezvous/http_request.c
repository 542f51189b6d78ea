/* SPDX-License-Identifier: Apache-2.0 */
/* Reading request heads; see http_request.h. */
#include "rendezvous/http_request.h"

#include <http_parser.h>
#include <string.h>
#include <strings.h>

/* What the rules below have seen. */
struct headers {
    struct http_text authorization, host, origin, fetch_site;
    int lengths, codings;
    bool chunked, waits;
    uint64_t length;
    int refused; /* HTTP status, the first */
};

struct parse {
    struct http_request *request;
    struct http_text name;
    struct headers headers;
};

static bool text_is(struct http_text text, const char *expected)
{
    return text.length == strlen(expected) && strncasecmp(text.data, expected, text.length) == 0;
}

static void refuse(struct headers *headers, int status)
{
    if (!headers->refused)
        headers->refused = status;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Keeps a value that may be there once; the parser has left blanks at its end. */
static void keep_once(struct headers *headers, struct http_text *kept, struct http_text value)
{
    if (kept->data)
        refuse(headers, 400);
    while (value.length > 0 && is_blank(value.data[value.length - 1]))
        value.length--;
    *kept = value;
}

static void on_authorization(struct headers *headers, struct http_text value)
{
    keep_once(headers, &headers->authorization, value);
}

static void on_host(struct headers *headers, struct http_text value)
{
    keep_once(headers, &headers->host, value);
}

static void on_origin(struct headers *headers, struct http_text value)
{
    keep_once(headers, &headers->origin, value);
}

static void on_fetch_site(struct headers *headers, struct http_text value)
{
    keep_once(headers, &headers->fetch_site, value);
}

static void on_content_length(struct headers *headers, struct http_text value)
{
    headers->lengths++;
    headers->length = 0;
    bool valid = value.length >= 1 && value.length <= 19; /* fits 64 bits */
    for (size_t i = 0; valid && i < value.length; i++) {
        unsigned digit = (unsigned)(value.data[i] - '0');
        valid = digit <= 9;
        headers->length = headers->length * 10 + digit;
    }
    if (!valid)
        refuse(headers, 400);
}

static void on_transfer_encoding(struct headers *headers, struct http_text value)
{
    headers->codings++;
    headers->chunked = text_is(value, "chunked");
}

static void on_expect(struct headers *headers, struct http_text value)
{
    headers->waits = text_is(value, "100-continue");
    if (!headers->waits)
        refuse(headers, 417);
}

static void on_unsupported(struct headers *headers, struct http_text value)
{
    (void)value;
    refuse(headers, 400);
}

static void on_connection(struct headers *headers, struct http_text value)
{
    int options = 1;
    for (size_t i = 0; i < value.length; i++)
        options += value.data[i] == ',';
    if (options > 8)
        refuse(headers, 400);
}

static const struct {
    const char *name;
    void (*see)(struct headers *headers, struct http_text value);
} rules[] = {
    { "Authorization", on_authorization },
    { "Host", on_host },
    { "Origin", on_origin },
    { "Sec-Fetch-Site", on_fetch_site },
    { "Content-Length", on_content_length },
    { "Transfer-Encoding", on_transfer_encoding },
    { "Expect", on_expect },
    { "Upgrade", on_unsupported },
    { "Trailer", on_unsupported },
    { "Connection", on_connection },
};

static int on_url(http_parser *parser, const char *at, size_t length)
{
    struct parse *parse = parser->data;
    parse->request->target = at;
    parse->request->target_length = length;
    return 0;
}

/* The parser has all bytes at once, so that it gives each name and value in one piece. */
static int on_header_field(http_parser *parser, const char *at, size_t length)
{
    struct parse *parse = parser->data;
    parse->name = (struct http_text){ at, length };
    return 0;
}

static int on_header_value(http_parser *parser, const char *at, size_t length)
{
    struct parse *parse = parser->data;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (text_is(parse->name, rules[i].name))
            rules[i].see(&parse->headers, (struct http_text){ at, length });
    return 0;
}

static int on_headers_complete(http_parser *parser)
{
    struct parse *parse = parser->data;
    parse->request->method = (int)parser->method;
    parse->request->http10 = parser->http_minor == 0;
    parse->request->keep_alive = http_should_keep_alive(parser) != 0;
    return 0;
}

static int check_framing(const struct headers *headers, const struct http_request *request)
{
    if (headers->lengths > 1 || headers->codings > 1 || (headers->lengths && headers->codings))
        return 400;
    if (headers->codings)
        return headers->chunked ? 501 : 400;
    if (request->method == HTTP_PUT && !headers->lengths)
        return 411;
    return headers->length > HTTP_BODY_MAX ? 413 : 0;
}

static int check(const struct headers *headers, const struct http_request *request)
{
    if (headers->refused)
        return headers->refused;
    if (!headers->host.data && !request->http10)
        return 400;
    if (request->target_length == 0 || request->target[0] != '/')
        return 400;
    return check_framing(headers, request);
}

/* The parser's own refusals; of a coding that it does not know we say the same as of any. */
static int parser_status(const http_parser *parser)
{
    switch (HTTP_PARSER_ERRNO(parser)) {
    case HPE_OK:
        return 0;
    case HPE_INVALID_METHOD:
        return 501;
    default:
        return 400;
    }
}

int http_request_parse(struct http_request *request, const struct http_head *head)
{
    static const http_parser_settings settings = { .on_url = on_url,
                                                   .on_header_field = on_header_field,
                                                   .on_header_value = on_header_value,
                                                   .on_headers_complete = on_headers_complete };
    *request = (struct http_request){ 0 };
    struct parse parse = { .request = request };
    http_parser parser;
    http_parser_init(&parser, HTTP_REQUEST);
    parser.data = &parse;
    http_parser_execute(&parser, &settings, (const char *)head->text.data, head->text.length);
    int refused = parser_status(&parser);
    if (!refused)
        refused = check(&parse.headers, request);
    request->body_length = parse.headers.length;
    request->waits = parse.headers.waits && !request->http10 && request->body_length > 0;
    request->authorization = parse.headers.authorization;
    request->host = parse.headers.host;
    request->origin = parse.headers.origin;
    request->fetch_site = parse.headers.fetch_site;
    return refused;
}
