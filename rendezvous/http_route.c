/* SPDX-License-Identifier: Apache-2.0 */
/* Routes and answers; see http_route.h. */
#include "rendezvous/http_route.h"

#include <http_parser.h>
#include <stdio.h>
#include <string.h>

static void healthz(const struct http_request *request, struct http_answer *answer)
{
    (void)request;
    *answer = (struct http_answer){ .status = 200,
                                    .type = "application/json",
                                    .body = "{\"status\":\"ok\"}\n" };
}

/* The rows of one path stand together; `allow` is the same in each. */
static const struct route {
    const char *path;
    const char *allow;
    int method; /* enum http_method */
    void (*handle)(const struct http_request *request, struct http_answer *answer);
} routes[] = {
    { "/healthz", "GET, HEAD", HTTP_GET, healthz },
};

static bool path_is(const struct http_request *request, const char *path)
{
    return request->target_length == strlen(path) &&
           memcmp(request->target, path, request->target_length) == 0;
}

void http_route(const struct http_request *request, struct http_answer *answer)
{
    int method = request->method == HTTP_HEAD ? HTTP_GET : request->method;
    *answer = (struct http_answer){ .status = 404 };
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
        if (!path_is(request, routes[i].path))
            continue;
        if (routes[i].method == method) {
            routes[i].handle(request, answer);
            return;
        }
        *answer = (struct http_answer){ .status = 405, .allow = routes[i].allow };
    }
}

void http_answer_put(struct wire_writer *out, const struct http_answer *answer, bool head_only,
                     enum http_connection connection)
{
    const char *reason = http_status_str((enum http_status)answer->status);
    char words[64];
    snprintf(words, sizeof words, "%d %s\n", answer->status, reason);
    const char *body = answer->body ? answer->body : words;
    char head[512];
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 %d %s\r\n"
                          "Content-Type: %s\r\n"
                          "Content-Length: %zu\r\n"
                          "%s%s%s"
                          "Connection: %s\r\n"
                          "\r\n",
                          answer->status, reason, answer->type ? answer->type : "text/plain",
                          strlen(body), answer->allow ? "Allow: " : "",
                          answer->allow ? answer->allow : "", answer->allow ? "\r\n" : "",
                          connection == HTTP_KEEP_ALIVE ? "keep-alive" : "close");
    wire_put_bytes(out, head, (size_t)length);
    wire_put_bytes(out, body, head_only ? 0 : strlen(body));
}
