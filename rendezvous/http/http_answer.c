/* SPDX-License-Identifier: Apache-2.0 */
/* Answers as bytes; see http_answer.h. */
#include "rendezvous/http/http_answer.h"

#include "rendezvous/http/http_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 512, NO_CONTENT = 204 };

void http_answer_text(struct http_answer *answer, int status, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    wire_writer_fini(&answer->made);
    wire_put_bytes(&answer->made, line, strlen(line));
    answer->status = status;
    answer->type = NULL;
}

void http_answer_fini(struct http_answer *answer)
{
    wire_writer_fini(&answer->made);
}

struct body {
    const char *data;
    size_t length;
};

static struct body body_of(const struct http_answer *answer, const char *words)
{
    if (answer->made.length > 0)
        return (struct body){ (const char *)answer->made.data, answer->made.length };
    if (answer->has_body)
        return (struct body){ answer->body, answer->length };
    return (struct body){ words, strlen(words) };
}

size_t http_answer_length(const struct http_answer *answer)
{
    return answer->made.length > 0 ? answer->made.length : answer->length;
}

/* Of the statuses in use only 204 has no body, and it must not have Content-Length. */
static void put_length(struct wire_writer *out, int status, size_t length)
{
    char line[64];
    if (status == NO_CONTENT)
        return;
    int size = snprintf(line, sizeof line, "Content-Length: %zu\r\n", length);
    wire_put_bytes(out, line, (size_t)size);
}

static void put_text(struct wire_writer *out, const char *text)
{
    wire_put_bytes(out, text, strlen(text));
}

static void http_answer_put_head(struct wire_writer *out, const struct http_answer *answer,
                                 int status, size_t length, enum http_connection connection)
{
    char line[LINE_SIZE];
    snprintf(line, sizeof line, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", status,
             http_status_reason(status), answer->type ? answer->type : "text/plain");
    put_text(out, line);
    put_length(out, status, length);
    put_text(out, "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
    snprintf(line, sizeof line, "Allow: %s\r\n", answer->allow);
    put_text(out, *answer->allow ? line : "");
    put_text(out, answer->headers ? answer->headers : "");
    put_text(out, connection == HTTP_KEEP_ALIVE ? "Connection: keep-alive\r\n\r\n"
                                                : "Connection: close\r\n\r\n");
}

void http_answer_put(struct wire_writer *out, const struct http_answer *answer, bool head_only,
                     enum http_connection connection)
{
    int status = answer->made.failed ? 500 : answer->status;
    char words[64];
    snprintf(words, sizeof words, "%d %s\n", status, http_status_reason(status));
    struct body body = body_of(answer, words);
    http_answer_put_head(out, answer, status, body.length, connection);
    if (!head_only && status != NO_CONTENT)
        wire_put_bytes(out, body.data, body.length);
}
