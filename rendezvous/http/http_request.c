/* SPDX-License-Identifier: Apache-2.0 */
/* Reading request heads; see http_request.h. */
#include "rendezvous/http/http_request.h"

enum { CONNECTION_OPTIONS_MAX = 8 };

/* The headers that the rules below have found. */
struct headers {
    struct http_request *request;
    bool length, coding; /* there is one */
    bool close, keep_alive;
};

static const char *const methods[] = {
    [HTTP_GET] = "GET",         [HTTP_HEAD] = "HEAD",   [HTTP_PUT] = "PUT",
    [HTTP_DELETE] = "DELETE",   [HTTP_POST] = "POST",   [HTTP_CONNECT] = "CONNECT",
    [HTTP_OPTIONS] = "OPTIONS", [HTTP_TRACE] = "TRACE", [HTTP_PATCH] = "PATCH",
};

const char *http_method_name(enum http_method method)
{
    return methods[method];
}

/* A rule returns 0 or the HTTP status of the refusal. */
static int keep_once(struct http_text *kept, struct http_text value)
{
    if (kept->data)
        return 400;
    http_text_drop_blanks_at_end(&value);
    *kept = value;
    return 0;
}

static int on_authorization(struct headers *headers, struct http_text value)
{
    return keep_once(&headers->request->authorization, value);
}

static int on_host(struct headers *headers, struct http_text value)
{
    return keep_once(&headers->request->host, value);
}

static int on_origin(struct headers *headers, struct http_text value)
{
    return keep_once(&headers->request->origin, value);
}

static int on_fetch_site(struct headers *headers, struct http_text value)
{
    return keep_once(&headers->request->fetch_site, value);
}

static int on_content_length(struct headers *headers, struct http_text value)
{
    uint64_t length = 0;
    if (headers->length || value.length < 1 || value.length > 19) /* fits 64 bits */
        return 400;
    for (size_t i = 0; i < value.length; i++) {
        unsigned digit = (unsigned)value.data[i] - '0';
        if (digit > 9)
            return 400;
        length = length * 10 + digit;
    }
    headers->length = true;
    headers->request->body_length = length;
    return 0;
}

static int on_transfer_encoding(struct headers *headers, struct http_text value)
{
    if (headers->coding || !http_text_is(value, "chunked"))
        return 400;
    headers->coding = true;
    return 0;
}

static int on_expect(struct headers *headers, struct http_text value)
{
    headers->request->waits = http_text_is(value, "100-continue");
    return headers->request->waits ? 0 : 417;
}

static int on_unsupported(struct headers *headers, struct http_text value)
{
    (void)headers, (void)value;
    return 400;
}

static int on_connection(struct headers *headers, struct http_text value)
{
    bool more = true;
    for (int options = 0; more; options++) {
        struct http_text option = value;
        if (options == CONNECTION_OPTIONS_MAX)
            return 400;
        more = http_text_take_until(&value, ',', &option);
        http_text_skip_blanks(&option);
        http_text_drop_blanks_at_end(&option);
        headers->close = headers->close || http_text_is(option, "close");
        headers->keep_alive = headers->keep_alive || http_text_is(option, "keep-alive");
    }
    return 0;
}

static const struct {
    const char *name;
    int (*see)(struct headers *headers, struct http_text value);
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

static int read_request_line(struct http_request *request, struct http_text line)
{
    struct http_request_line parts;
    size_t method = 0;
    http_request_line_split(line, &parts);
    while (method < sizeof methods / sizeof *methods &&
           (parts.method.length != strlen(methods[method]) ||
            memcmp(parts.method.data, methods[method], parts.method.length) != 0))
        method++;
    if (method == sizeof methods / sizeof *methods)
        return 501;
    request->method = (enum http_method)method;
    request->target = parts.target.data;
    request->target_length = parts.target.length;
    request->http10 = parts.minor == 0;
    return request->target[0] == '/' && request->method != HTTP_CONNECT ? 0 : 400;
}

static int read_header(struct headers *headers, struct http_text line)
{
    struct http_header header;
    http_header_split(line, &header);
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (http_text_is(header.name, rules[i].name))
            return rules[i].see(headers, header.value);
    return 0;
}

static int framing_check(const struct headers *headers)
{
    const struct http_request *request = headers->request;
    if (!request->host.data && !request->http10)
        return 400;
    if (headers->coding)
        return headers->length ? 400 : 501;
    if (request->method == HTTP_PUT && !headers->length)
        return 411;
    return request->body_length > HTTP_BODY_MAX ? 413 : 0;
}

int http_request_parse(struct http_request *request, const struct http_head *head)
{
    struct headers headers = { .request = request };
    struct http_text line;
    size_t at = 0;
    *request = (struct http_request){ 0 };
    http_head_next(head, &at, &line);
    int refused = read_request_line(request, line);
    while (!refused && http_head_next(head, &at, &line))
        refused = read_header(&headers, line);
    if (!refused)
        refused = framing_check(&headers);
    request->waits = request->waits && !request->http10 && request->body_length > 0;
    request->keep_alive = !headers.close && (headers.keep_alive || !request->http10);
    return refused;
}
