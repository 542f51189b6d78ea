/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a request, read from the lines of its whole head (http_head.h), and the rules on
 * headers that decide where its body ends or that we refuse.
 *
 * Refused with an HTTP status:
 *   400  a target that is not a path; CONNECT; Host missing (HTTP/1.1) or twice; Authorization,
 *        Origin or Sec-Fetch-Site twice; Content-Length twice, beside Transfer-Encoding, or not 1
 *        to 19 digits; Transfer-Encoding twice, or a coding other than "chunked"; Upgrade; Trailer;
 *        Connection with more than 8 options
 *   411  PUT without Content-Length
 *   413  a body longer than HTTP_BODY_MAX
 *   417  Expect, other than "100-continue"
 *   501  a method that is not in enum http_method, a chunked body */
#ifndef RENDEZVOUS_HTTP_HTTP_REQUEST_H
#define RENDEZVOUS_HTTP_HTTP_REQUEST_H

#include "rendezvous/http/http_head.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HTTP_BODY_MAX = 4 * 1024 * 1024 };

/* The methods of RFC 9110, and PATCH (RFC 5789). */
enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_PUT,
    HTTP_DELETE,
    HTTP_POST,
    HTTP_CONNECT,
    HTTP_OPTIONS,
    HTTP_TRACE,
    HTTP_PATCH
};
const char *http_method_name(enum http_method method);

struct http_request {
    enum http_method method;
    const char *target; /* a path and maybe a query, still encoded; borrowed from the head */
    size_t target_length;
    uint64_t body_length;
    bool keep_alive; /* the client wants to keep the connection */
    bool http10;
    bool waits; /* the client waits for "100 Continue" before it sends its body */
    struct http_text authorization, host, origin, fetch_site; /* without blanks around; NULL if not
                                                                 there; borrowed as well */
};

/* 0, or the HTTP status of the refusal. */
int http_request_parse(struct http_request *request, const struct http_head *head);

#endif
